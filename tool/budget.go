package tool

import (
	"context"
	"encoding/base64"
	"fmt"
	"unicode/utf8"
)

// A Budget bounds, in bytes of their content, what the model is shown of results. What is longer is shortened when it
// is committed, in the model's order, so that it does not depend on who finished first. A shortened result says so: its
// last block tells how much of it is shown. What is left is valid: text is cut between characters, in its middle, JSON
// that is cut becomes text, and an image is shown or is not. Neither Value nor Meta nor Contexts are shortened.
//
// The zero Budget shortens nothing.
type Budget struct {
	// Result bounds one result; 0: no bound. Less than [LeastShown] counts as that.
	Result int

	// Batch bounds the results of a batch together, those that come first in the model's order first; 0: no bound.
	// Each call may use what is left, but for [LeastShown] for every call that comes after it, and at least that much
	// itself, so that all of them together are above Batch only if Batch is less than that for each.
	Batch int

	// Spill keeps the whole result, which is about to be shortened, and returns what the model is to be told of where
	// it is, in a few words: a path that one of its tools can read. Nil: it is not kept. If it fails, the model is
	// told.
	Spill func(ctx context.Context, c *Invocation, r Result) (where string, err error)
}

// LeastShown is how many bytes of a result are always shown, whatever its [Budget].
const LeastShown = 512

// A batch is what the calls of one assistant message share.
type batch struct {
	left  int // of the budget
	later int // calls that have yet to be committed
}

// shorten holds the result to the budget.
func (j *Job) shorten(ctx context.Context) {
	budget, r := &j.Pipeline.Budget, &j.Result
	size, most := sizeOf(r.Content), -1
	j.batch.later--
	if budget.Result > 0 {
		most = max(budget.Result, LeastShown)
	}
	if budget.Batch > 0 {
		if share := max(j.batch.left-LeastShown*j.batch.later, LeastShown); most < 0 || share < most {
			most = share
		}
	}
	if most >= 0 && size > most {
		kept := ""
		if budget.Spill != nil {
			where, err := safely(func() (string, error) { return budget.Spill(ctx, &j.Invocation, *r) })
			if kept = " All of it is kept: " + bounded(where, maxWhere); err != nil {
				kept = " The rest could not be kept: " + bounded(fmt.Sprint(err), maxWhere)
			}
		}
		r.Content = shortened(r.Content, size, most, kept)
		size = sizeOf(r.Content)
	}
	j.batch.left -= size
}

const maxWhere = 300 // bytes; with the rest of the notice less than LeastShown

// shortened is content of some size with a notice, both together in no more than most bytes.
func shortened(content []Block, size, most int, kept string) []Block {
	notice := func(shown int) string {
		return fmt.Sprintf("[This result was shortened: %d of its %d bytes are shown.%s]", shown, size, kept)
	}
	room := most - len(notice(size))
	var out []Block
	shown := 0
	for i := range content {
		b := &content[i]
		n := b.size()
		if n <= room-shown {
			out = append(out, *b)
			shown += n
			continue
		}
		if b.Image != nil { // what comes after it may be shorter
			continue
		}
		text, n := cut(b.text(), room-shown)
		if n > 0 {
			out = append(out, Block{Text: text})
			shown += n
		}
		break
	}
	return append(out, Block{Text: notice(shown)})
}

// cut leaves out the middle of a text that is longer than room, and says how much of it is left. The end of an output
// often says how it went, its beginning what it is.
func cut(text string, room int) (cut string, left int) {
	mark := fmt.Sprintf("\n[… %d bytes …]\n", len(text))
	if room -= len(mark); room < 2*len(mark) {
		return "", 0
	}
	head, tail := room-room/3, len(text)-room/3
	for !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + fmt.Sprintf("\n[… %d bytes …]\n", tail-head) + text[tail:], len(text) - (tail - head)
}

// size is how many bytes of a request a block takes up.
func (b *Block) size() int {
	switch {
	case b.Image != nil:
		return len(b.Image.MediaType) + base64.StdEncoding.EncodedLen(len(b.Image.Data))
	case len(b.JSON) > 0:
		return len(b.JSON)
	}
	return len(b.Text)
}

func sizeOf(content []Block) (n int) {
	for i := range content {
		n += content[i].size()
	}
	return n
}
