package files

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
)

// Versions remember the version of each file that a session has last seen, as it read the file or wrote it: a write or
// an edit of the session that gives no version then refuses when the file has changed since, as if it had given that
// one. Of files that the session has not seen they know nothing.
//
// The zero Versions are empty. They are safe for concurrent use, and are for one session and one directory: the calls
// are told of them by [WithVersions].
type Versions struct {
	mu   sync.Mutex
	seen map[string]string // by path
}

type versionsKey struct{}

// WithVersions returns a context for the calls of a session, such as that of its agent, which remember in v what they
// see.
func WithVersions(ctx context.Context, v *Versions) context.Context {
	return context.WithValue(ctx, versionsKey{}, v)
}

func versionsOf(ctx context.Context) *Versions {
	v, _ := ctx.Value(versionsKey{}).(*Versions)
	return v
}

// known is the version that a call gives, or else the one that its session has seen.
func known(ctx context.Context, given, rel string) string {
	v := versionsOf(ctx)
	if given != "" || v == nil {
		return given
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.seen[rel]
}

// Note takes note of what a result of a tool of this package says: of a success, its name and value. Calls do so by
// themselves; it is for those that are in the log of a session that is opened again.
func (v *Versions) Note(tool string, value json.RawMessage) {
	var said struct{ Path, Version string }
	var moved struct{ From string }
	if json.Unmarshal(value, &said) != nil || said.Path == "" || tool == "move" && json.Unmarshal(value, &moved) != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case tool == "move":
		v.move(moved.From, said.Path)
	case tool == "remove":
		v.move(said.Path, "")
	case said.Version != "" && (tool == "read" || tool == "write" || tool == "edit"):
		if v.seen == nil {
			v.seen = map[string]string{}
		}
		v.seen[said.Path] = said.Version
	}
}

// move has what is known of a path, and of all below it, be of another one, or of none.
func (v *Versions) move(from, to string) {
	if from == to {
		return
	}
	moved := map[string]string{}
	for path, version := range v.seen {
		if below, ok := strings.CutPrefix(path, from); ok && (below == "" || below[0] == '/') {
			delete(v.seen, path)
			moved[to+below] = version
		}
	}
	if to == "" {
		return
	}
	delete(v.seen, to) // another file was there
	for path, version := range moved {
		v.seen[path] = version
	}
}
