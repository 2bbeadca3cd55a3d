package js

import (
	_ "embed"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"modernc.org/libc"
	lib "modernc.org/libquickjs"
)

// The operations of the host, as the prelude knows them.
const (
	opCall = iota
	opLog
	opTimer
	opClear
	opNow
	opRandom
	opKind
)

// opNames are what the prelude calls them, by number.
var opNames = []string{"call", "log", "timer", "clear", "now", "random", "kind"}

// The functions of the prelude.
const (
	fnOpen = iota
	fnSettle
	fnFire
	fnFinish
	fnFail
	fnBrief
)

// boot makes a world with its prelude.
func boot() (*vm, error) {
	m, err := newVM()
	if err != nil {
		return nil, err
	}
	if err := m.addPrelude(); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

//go:embed prelude.js
var preludeSource string

// The prelude is compiled once.
var preludeCode = sync.OnceValues(func() (code string, err error) {
	m, err := newVM()
	if err != nil {
		return "", err
	}
	defer m.close()
	f, thrown := m.eval(preludeSource, "prelude.js", true)
	defer m.free(f)
	if thrown {
		return "", fmt.Errorf("js: prelude: %s", m.text(f))
	}
	p := lib.XJS_WriteObject(m.tls, m.ctx, m.scratch, f, lib.MJS_WRITE_OBJ_BYTECODE)
	if p == 0 {
		return "", errors.New("js: no memory for the prelude")
	}
	defer lib.Xjs_free(m.tls, m.ctx, p)
	return string(unsafe.Slice(at[byte](p), *at[libc.Tsize_t](m.scratch))), nil
})

// addPrelude gives the world what a program finds besides the language.
func (m *vm) addPrelude() error {
	code, err := preludeCode()
	if err != nil {
		return err
	}
	p, err := m.bytes(code)
	if err != nil {
		return err
	}
	defer libc.Xfree(m.tls, p)
	f := lib.XJS_ReadObject(m.tls, m.ctx, p, libc.Tsize_t(len(code)), lib.MJS_READ_OBJ_BYTECODE)
	if isException(f) {
		return errors.New("js: no memory for the prelude")
	}
	f, thrown := m.evaluate(f)
	defer m.free(f)
	if thrown {
		return fmt.Errorf("js: prelude: %s", m.text(f))
	}
	table := lib.XJS_NewObject(m.tls, m.ctx)
	for op, name := range opNames {
		const kind = lib.EJS_CFUNC_generic_magic
		fn := lib.XJS_NewCFunction2(m.tls, m.ctx, fp(onHost), nameOf(name), maxArgs, kind, int32(op))
		lib.XJS_SetPropertyStr(m.tls, m.ctx, table, nameOf(name), fn)
	}
	if m.prelude, thrown = m.call(f, table); thrown {
		defer func() { m.prelude = undefined }()
		defer m.free(m.prelude)
		return fmt.Errorf("js: prelude: %s", m.text(m.prelude))
	}
	return nil
}

// kind is the number that the prelude has for what v is; 0: another.
func (m *vm) kind(v value) int {
	if int32(v.Ftag) != lib.EJS_TAG_OBJECT {
		return 0
	}
	switch lib.XJS_GetClassID(m.tls, v) {
	case lib.EJS_CLASS_PROMISE:
		return 1
	case lib.EJS_CLASS_DATE:
		return 2
	case lib.EJS_CLASS_MAP:
		return 3
	case lib.EJS_CLASS_SET:
		return 4
	case lib.EJS_CLASS_REGEXP:
		return 5
	case lib.EJS_CLASS_ARRAY_BUFFER:
		return 6
	case lib.EJS_CLASS_NUMBER:
		return 7
	case lib.EJS_CLASS_STRING:
		return 8
	case lib.EJS_CLASS_BOOLEAN:
		return 9
	case lib.EJS_CLASS_SYMBOL:
		return 10
	case lib.EJS_CLASS_BIG_INT:
		return 11
	}
	return 0
}
