package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// ErrLine is wrapped by errors about lines that are no batch.
var ErrLine = errors.New("not a recorded batch")

// maxLine is how long a line may be. The longest of those recorded has 22 calls and 10 kB.
const maxLine = 16 << 20

// Read gives the batches of r, one after another, in memory for one of them. A line that is no batch gives an error
// that wraps [ErrLine] and names the line and what is wrong with it, and reading goes on with the next one; an error of
// r, or a line of more than 16 MiB, ends it. Empty lines are left out.
func Read(r io.Reader) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		s := bufio.NewScanner(r)
		s.Buffer(nil, maxLine)
		n := 0
		for s.Scan() {
			n++
			line := bytes.TrimSpace(s.Bytes())
			if len(line) == 0 {
				continue
			}
			b, err := parse(line)
			if err != nil {
				b, err = Batch{}, fmt.Errorf("line %d: %w: %w", n, ErrLine, err)
			}
			if !yield(b, err) {
				return
			}
		}
		if err := s.Err(); err != nil {
			yield(Batch{}, fmt.Errorf("line %d: %w", n+1, err))
		}
	}
}

func parse(line []byte) (b Batch, err error) {
	if err := json.Unmarshal(line, &b); err != nil {
		return b, err
	}
	if b.Trace == "" || len(b.Calls) == 0 {
		return b, errors.New("it has no trace or no calls")
	}
	for i, c := range b.Calls {
		if c.Index != i {
			return b, fmt.Errorf("call %d is numbered %d: calls must be in order, from 0", i+1, c.Index)
		}
		switch c.Access {
		case Reads, Writes, Exclusive, Spawns:
		default:
			return b, fmt.Errorf("call %d: access %q: must be read, write, exclusive or spawn", i+1, c.Access)
		}
		for _, k := range c.Keys {
			if k.Name == "" || k.Mode != "r" && k.Mode != "w" {
				return b, fmt.Errorf("call %d: key %q, mode %q: must have a name, and r or w", i+1, k.Name, k.Mode)
			}
		}
	}
	return b, nil
}
