package js

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/keywave-go/keywave/codemode"
)

// The host and a worker talk in frames: the length of what follows in four bytes, what it is in one, and the rest.
//
//	host → worker                        worker → host
//	frameRun     an order, as JSON       frameReady   the worker waits for an order
//	frameValue   id, value as JSON       frameCall    number of the tool, arguments as JSON
//	frameFailure id, message             frameLog     level, text
//	frameNow     Unix milliseconds       frameAskNow, frameAskRandom
//	frameRandom  bits of a float         frameDone    length of an outcome, it as JSON, its value
//
// Calls are numbered by their order, on both sides, so that there is no id that a worker could forge.
const (
	frameRun byte = iota + 1
	frameValue
	frameFailure
	frameNow
	frameRandom
	frameReady
	frameCall
	frameLog
	frameAskNow
	frameAskRandom
	frameDone
)

const headerSize = 5

// newFrame begins a frame whose payload is appended; seal ends it.
func newFrame(kind byte) []byte { return []byte{0, 0, 0, 0, kind} }

func seal(f []byte) []byte {
	binary.LittleEndian.PutUint32(f, uint32(len(f)-4))
	return f
}

func number32(b []byte, n int) []byte { return binary.LittleEndian.AppendUint32(b, uint32(n)) }

func number64(b []byte, n uint64) []byte { return binary.LittleEndian.AppendUint64(b, n) }

// cut32 takes a number from the front of b.
func cut32(b []byte) (int, []byte, error) {
	if len(b) < 4 {
		return 0, nil, errShort
	}
	return int(binary.LittleEndian.Uint32(b)), b[4:], nil
}

func cut64(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, errShort
	}
	return binary.LittleEndian.Uint64(b), nil
}

// doneFrame holds the value apart, as it is.
func doneFrame(o codemode.Outcome) []byte {
	value := o.Value
	o.Value = nil
	text, err := json.Marshal(o)
	if err != nil {
		text, _ = json.Marshal(codemode.Outcome{Failure: codemode.Crash, Message: err.Error()})
	}
	return append(append(number32(newFrame(frameDone), len(text)), text...), value...)
}

func cutDone(b []byte) (o codemode.Outcome, err error) {
	n, b, err := cut32(b)
	if err != nil || n > len(b) {
		return o, errShort
	}
	if err := json.Unmarshal(b[:n], &o); err != nil {
		return o, err
	}
	o.Value = nil
	if len(b) > n {
		o.Value = bytes.Clone(b[n:])
	}
	return o, nil
}

var errShort = errors.New("js: a frame is too short")

// A frameReader reads frames. An error of the source, such as a deadline that passed, loses nothing: what was read of
// a frame is kept for the next call.
type frameReader struct {
	from io.Reader
	buf  []byte // what was read
	at   int    // of it, what was returned
	most int    // bytes of a frame
}

// next returns the next frame; its payload is valid until the next call.
func (r *frameReader) next() (kind byte, payload []byte, err error) {
	for {
		if have := r.buf[r.at:]; len(have) >= headerSize {
			n := int(binary.LittleEndian.Uint32(have))
			if n < 1 || n > r.most {
				return 0, nil, fmt.Errorf("js: a frame of %d bytes, which may be %d", n, r.most)
			}
			if len(have) >= n+4 {
				r.at += n + 4
				return have[4], have[headerSize : n+4], nil
			}
		}
		if err := r.fill(); err != nil {
			return 0, nil, err
		}
	}
}

func (r *frameReader) fill() error {
	if r.at > 0 {
		// A buffer that a large frame made is not kept.
		rest := r.buf[r.at:]
		if cap(r.buf) > 1<<20 && len(rest) < 4096 {
			r.buf = append(make([]byte, 0, 4096), rest...)
		} else {
			r.buf = r.buf[:copy(r.buf, rest)]
		}
		r.at = 0
	}
	if len(r.buf) == cap(r.buf) {
		r.buf = append(r.buf, make([]byte, max(4096, len(r.buf)))...)[:len(r.buf)]
	}
	n, err := r.from.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf = r.buf[:len(r.buf)+n]
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}
