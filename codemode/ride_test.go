package codemode_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/tool"
)

// riders are tools whose results bring something along.
func riders(t require.TestingT) *tool.Registry {
	return registry(t,
		define(t, tool.Spec[in, tool.Result]{Name: "note", Safe: isSafe, Body: func(c ctx, i in) (tool.Result, error) {
			<-time.After(time.Duration(i.Ms) * time.Millisecond)
			r := tool.Result{Content: []tool.Block{{Text: i.Key}, {Image: &tool.Image{MediaType: "image/png", Data: []byte(i.Key)}}}}
			r.Contexts = []tool.Context{{Source: i.Key, Content: tool.Text("of " + i.Key).Content}}
			r.IsError = i.Key == "bad"
			return r, nil
		}}),
		define(t, tool.Spec[in, string]{Name: "submit", ConcludesTurn: true, Body: func(_ ctx, i in) (string, error) {
			if i.Key == "bad" {
				return "", errBoom
			}
			return "submitted", nil
		}}),
	)
}

func sources(r tool.Result) (names []string) {
	for _, c := range r.Contexts {
		names = append(names, c.Source)
	}
	return names
}

func images(r tool.Result) (data []string) {
	for _, b := range r.Content {
		if b.Image != nil {
			data = append(data, string(b.Image.Data))
		}
	}
	return data
}

// Contexts and images ride on the result in the order of the calls, whichever ends first, also if the program fails.
func TestC8Contexts(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, func(w *world) codemode.Outcome {
				one, two := w.call("note", in{Key: "one", Ms: 20}), w.call("note", in{Key: "two", Ms: 10})
				_, _ = w.call("note", in{Key: "bad"}).try()
				all(one, two)
				w.call("note", in{Key: "left", Ms: 1000})
				if fails {
					return codemode.Outcome{Failure: codemode.Exception, Message: "1:2: oops"}
				}
				return returns("done")
			}, riders(t), codemode.DrainUnawaited(5*time.Second))
			r := h.run()
			want := []string{"one", "two", "bad", "left"}
			if fails { // and nothing is left any time
				assert.Equal(t, tool.CodeRunFailed, r.Code)
				assert.Contains(t, r.Text(), "The program failed (exception): 1:2: oops")
			}
			assert.Equal(t, want, append(sources(r), want[len(sources(r)):]...))
			assert.Equal(t, sources(r), images(r))
			assert.GreaterOrEqual(t, len(sources(r)), 3)
			parked := h.session.State().Parked
			require.Len(t, parked, 1)
			assert.Len(t, parked[0].Contexts, len(sources(r)))
		})
	}
}

// What a reviewer withholds takes along what rides on it; reviewers see failed programs too.
func TestC8Blocked(t *testing.T) {
	for _, fails := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, func(w *world) codemode.Outcome {
				w.call("note", in{Key: "one"}).await()
				w.call("submit", in{}).await()
				if fails {
					return codemode.Outcome{Failure: codemode.Exception, Message: "the secret"}
				}
				return returns("the secret")
			}, riders(t))
			h.pipeline.Reviewers = []tool.Reviewer{func(_ ctx, c *tool.Invocation, r tool.Result) (tool.Review, error) {
				if strings.Contains(r.Text(), "secret") {
					return tool.Review{Block: "no secrets"}, nil
				}
				return tool.Review{}, nil
			}}
			r := h.run()
			assert.Equal(t, tool.Blocked, r.Code)
			assert.Empty(t, r.Contexts)
			assert.Empty(t, images(r))
			assert.False(t, r.Concludes)
			assert.NotContains(t, r.Text(), "secret.")
			assert.Empty(t, h.session.State().Parked)
		})
	}
}

// A success that concludes the turn concludes it from within a program, also one that fails later; an error does not.
func TestH5FromAProgram(t *testing.T) {
	for _, c := range []struct {
		key   string
		fails bool
		want  bool
	}{{"", false, true}, {"", true, true}, {"bad", false, false}, {"bad", true, false}} {
		synctest.Test(t, func(t *testing.T) {
			h := newHost(t, func(w *world) codemode.Outcome {
				_, err := w.call("submit", in{Key: c.key}).try()
				assert.Equal(t, c.key == "bad", err != nil)
				w.call("note", in{Key: "after"}).await() // it cancels nothing
				if c.fails {
					return codemode.Outcome{Failure: codemode.Exception, Message: "oops"}
				}
				return returns("done")
			}, riders(t))
			assert.Equal(t, c.want, h.run().Concludes)
			assert.Len(t, h.nested(), 4)
		})
	}
}

// A cancelled program keeps its contexts, and concludes nothing.
func TestC8Cancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, func(w *world) codemode.Outcome {
			w.call("note", in{Key: "one"}).await()
			w.call("submit", in{}).await()
			w.sleep(time.Hour)
			return returns("done")
		}, riders(t))
		c, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		results, err := h.step(c, program("c1"))
		require.Error(t, err)
		assert.Equal(t, tool.Aborted, results[0].Code)
		assert.Equal(t, []string{"one"}, sources(results[0]))
		assert.False(t, results[0].Concludes)
		assert.Len(t, h.session.State().Parked, 1)
	})
}
