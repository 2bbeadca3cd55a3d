package keys

import (
	"fmt"
	"strings"
)

// Name returns the key of a resource that is neither a file nor a URL: a table, a queue, an account. The name becomes
// one component below its kind, whatever it holds (a slash in it is escaped), and is otherwise taken byte for byte.
//
// Kind is one component too, not empty, and neither "file" nor "url", which are taken. A claim on everything of a
// kind is the tree at kind. The error wraps [ErrInvalid].
func Name(kind, name string) (string, error) {
	switch {
	case kind == "" || strings.Contains(kind, "/"):
		return "", fmt.Errorf("kind %q: %w: a kind is one component, not empty and without a slash", kind, ErrInvalid)
	case kind == fileKind || kind == urlKind:
		return "", fmt.Errorf("kind %q: %w: it is taken by the keys of files and URLs", kind, ErrInvalid)
	case name == "":
		return "", fmt.Errorf("name of kind %q is empty: %w", kind, ErrInvalid)
	}
	return kind + "/" + nameEscapes.Replace(name), nil
}

const (
	fileKind = "file"
	urlKind  = "url"
)

var nameEscapes = strings.NewReplacer("/", "%2F", "%", "%25")
