package files

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/keywave-go/keywave/tool"
)

type grepArgs struct {
	Pattern    string `json:"pattern" jsonschema:"a regular expression in RE2 syntax, matched against each line"`
	Path       string `json:"path,omitempty" jsonschema:"the directory or file to search, relative to the root; the root itself by default"`
	Glob       string `json:"glob,omitempty" jsonschema:"search only files whose path below the directory matches this, or whose name does if it has no slash"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"letter case does not count"`
	Ignored    bool   `json:"ignored,omitempty" jsonschema:"search what .gitignore ignores, too"`
}

type globArgs struct {
	Pattern string `json:"pattern" jsonschema:"such as **/*.go"`
	Path    string `json:"path,omitempty" jsonschema:"the directory to search, relative to the root; the root itself by default"`
	Ignored bool   `json:"ignored,omitempty" jsonschema:"find what .gitignore ignores, too"`
}

type grepValue struct {
	Path    string  `json:"path"`
	Matches []match `json:"matches"`
	More    bool    `json:"more,omitempty"`    // the search ended at the most matches that fit
	Files   int     `json:"files"`             // that were searched
	Skipped int     `json:"skipped,omitempty"` // files that are not text, or cannot be read, or are too large
}

type match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

type globValue struct {
	Path  string   `json:"path"`
	Paths []string `json:"paths"` // relative to the root, directories with a slash at the end
	More  bool     `json:"more,omitempty"`
}

// errEnough ends a walk.
var errEnough = errors.New("enough")

func (f *Files) grep(ctx context.Context, in grepArgs) (tool.Result, error) {
	flags := ""
	if in.IgnoreCase {
		flags = "(?i)"
	}
	re, err := regexp.Compile(in.Pattern)
	if err == nil {
		re, err = regexp.Compile(flags + in.Pattern)
	}
	if err != nil {
		return tool.Result{}, fmt.Errorf("pattern: %w", err)
	}
	if err := checkGlob(in.Glob); err != nil {
		return tool.Result{}, err
	}
	p, err := f.keys.Follow(orRoot(in.Path))
	if err != nil {
		return tool.Result{}, err
	}
	v := grepValue{Path: p.Rel, Matches: []match{}}
	unread, err := f.walk(ctx, p.Rel, in.Ignored, func(rel string, mode fs.FileMode) error {
		if !mode.IsRegular() || in.Glob != "" && !globbed(in.Glob, p.Rel, rel) {
			return ctx.Err()
		}
		data, _, err := f.whole(ctx, rel)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || !isText(data) {
			v.Skipped++
			return nil
		}
		v.Files++
		return grepText(ctx, re, rel, data, &v)
	})
	if err != nil && err != errEnough {
		return tool.Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s in %s", shown(p.Rel), plural(len(v.Matches), "matching line"), plural(v.Files, "file"))
	if v.More {
		fmt.Fprintf(&b, "; there are more, ask more narrowly")
	}
	if v.Skipped > 0 {
		fmt.Fprintf(&b, "; %s skipped: not text, unreadable or too large", plural(v.Skipped, "file"))
	}
	if unread > 0 {
		fmt.Fprintf(&b, "; directories that cannot be read: %d", unread)
	}
	for _, m := range v.Matches {
		fmt.Fprintf(&b, "\n%s:%d:%s", shown(m.Path), m.Line, m.Text)
	}
	for i := range v.Matches {
		v.Matches[i].Path = jsonName(v.Matches[i].Path)
	}
	return result(v, b.String())
}

// grepText adds the lines of a file that match.
func grepText(ctx context.Context, re *regexp.Regexp, rel string, data []byte, v *grepValue) error {
	for n := 1; len(data) > 0; n++ {
		line, rest, _ := bytes.Cut(data, []byte("\n"))
		data = rest
		line = bytes.TrimSuffix(line, []byte("\r"))
		found := matches(ctx, re, line)
		if err := ctx.Err(); err != nil {
			return err
		}
		if !found {
			continue
		}
		if len(v.Matches) == maxMatches {
			v.More = true
			return errEnough
		}
		text, cut := shorten(line, maxShown)
		if cut {
			text += fmt.Sprintf(" [cut, %d bytes]", len(line))
		}
		v.Matches = append(v.Matches, match{rel, n, text})
	}
	return nil
}

// matches is re.Match, but for a long line, on which an expression of a few characters can be busy for minutes, it
// stops when its context is done.
func matches(ctx context.Context, re *regexp.Regexp, line []byte) bool {
	if len(line) <= 8<<10 {
		return re.Match(line)
	}
	if prefix, _ := re.LiteralPrefix(); !bytes.Contains(line, []byte(prefix)) {
		return false
	}
	return re.MatchReader(bufio.NewReaderSize(&reader{ctx, bytes.NewReader(line)}, 4<<10))
}

func (f *Files) glob(ctx context.Context, in globArgs) (tool.Result, error) {
	if in.Pattern == "" {
		return tool.Result{}, errors.New("pattern is empty")
	}
	if err := checkGlob(in.Pattern); err != nil {
		return tool.Result{}, err
	}
	p, err := f.keys.Follow(orRoot(in.Path))
	if err != nil {
		return tool.Result{}, err
	}
	if info, err := f.root.Lstat(p.Rel); err == nil && !info.IsDir() {
		return tool.Result{}, complain(p.Rel, "it is no directory")
	}
	v := globValue{Path: p.Rel, Paths: []string{}}
	unread, err := f.walk(ctx, p.Rel, in.Ignored, func(rel string, mode fs.FileMode) error {
		if !doublestar.MatchUnvalidated(in.Pattern, below(p.Rel, rel)) {
			return nil
		}
		if len(v.Paths) == maxEntries {
			v.More = true
			return errEnough
		}
		if mode.IsDir() {
			rel += "/"
		}
		v.Paths = append(v.Paths, rel)
		return nil
	})
	if err != nil && err != errEnough {
		return tool.Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d found", shown(p.Rel), len(v.Paths))
	if v.More {
		fmt.Fprintf(&b, "; there are more, ask more narrowly")
	}
	if unread > 0 {
		fmt.Fprintf(&b, "; directories that cannot be read: %d", unread)
	}
	for i, name := range v.Paths {
		b.WriteString("\n" + shown(name))
		v.Paths[i] = jsonName(name)
	}
	return result(v, b.String())
}

// checkGlob refuses what is no pattern, and what would take long to match.
func checkGlob(pattern string) error {
	if !doublestar.ValidatePattern(pattern) {
		return fmt.Errorf("pattern %q is malformed", pattern)
	}
	if len(pattern) > 1000 || alternatives(pattern) > maxAlternatives {
		return errors.New("pattern is too long, or has too many alternatives")
	}
	return nil
}

// maxAlternatives is how many patterns without braces a pattern may stand for: a name may be compared with each of
// them.
const maxAlternatives = 1000

// alternatives is at least that number, or maxAlternatives+1 if it is greater than that.
func alternatives(pattern string) int {
	total := 1
	var open []int // of each brace that is open, the alternatives
	for i := 0; i < len(pattern) && total <= maxAlternatives; i++ {
		switch top := len(open) - 1; pattern[i] {
		case '\\':
			i++
		case '{':
			open = append(open, 1)
		case ',':
			if top >= 0 {
				open[top]++
			}
		case '}':
			if top >= 0 {
				total *= open[top]
				open = open[:top]
			}
		}
	}
	return min(total, maxAlternatives+1)
}

// globbed reports whether a file found below base is one that pattern means.
func globbed(pattern, base, rel string) bool {
	if !strings.Contains(pattern, "/") {
		return doublestar.MatchUnvalidated(pattern, path.Base(rel))
	}
	return doublestar.MatchUnvalidated(pattern, below(base, rel))
}

// below is rel as seen from base; of base itself, its name.
func below(base, rel string) string {
	switch {
	case base == rel:
		return path.Base(rel)
	case base == ".":
		return rel
	}
	return strings.TrimPrefix(rel, base+"/")
}
