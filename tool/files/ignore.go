package files

import (
	"context"
	"io/fs"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/keywave-go/keywave/plan"
)

// ignoreFile is the name of the files that say what to ignore.
const ignoreFile = ".gitignore"

// searches returns the claims of a call that walks the tree at base: the tree, and the ignore files in the directories
// above it, which the walk reads as well. Where base crosses a link, these are also those above the name past the link,
// since an earlier call may put a directory in the link's place.
func (f *Files) searches(base string, ignored bool) ([]plan.Claim, error) {
	p, err := f.keys.Follow(orRoot(base))
	if err != nil {
		return nil, err
	}
	claims := p.Claims(plan.Read)
	if ignored {
		return claims, nil
	}
	for _, dir := range above(p.Rel) {
		file, err := f.keys.NoFollow(path.Join(dir, ignoreFile))
		if err != nil {
			return nil, err
		}
		claims = append(claims, file.Claims(plan.Read)...)
	}
	root, err := f.keys.Key(".")
	if err != nil {
		return nil, err
	}
	for _, link := range p.Crossed {
		below, inside := strings.CutPrefix(link.Past, root+"/")
		if !inside {
			continue // the root, all of which is claimed, or a link on the way to it
		}
		for _, dir := range above(below) {
			claims = append(claims, plan.Claim{Key: root + "/" + path.Join(dir, ignoreFile), Access: plan.Read, Tree: true})
		}
	}
	return claims, nil
}

// above returns the directories above rel, from the root down; none for the root.
func above(rel string) []string {
	if rel == "." {
		return nil
	}
	dirs := []string{"."}
	for i := range len(rel) {
		if rel[i] == '/' {
			dirs = append(dirs, rel[:i])
		}
	}
	return dirs
}

// A layer is what one ignore file says, on top of those above it.
type layer struct {
	above *layer
	dir   string // where the file is
	rules []rule
}

// A rule is a line of an ignore file.
type rule struct {
	pattern  string // for doublestar
	keep     bool   // the line began with a "!"
	dirsOnly bool
	anchored bool // matched against the path below the file's directory; otherwise against the name alone
}

// ignored reports whether a name is to be skipped: the last rule that matches decides, and the deepest file comes last.
func (l *layer) ignored(rel string, isDir bool) bool {
	for ; l != nil; l = l.above {
		below := rel
		if l.dir != "." {
			below = strings.TrimPrefix(rel, l.dir+"/")
		}
		for i := len(l.rules) - 1; i >= 0; i-- {
			if r := l.rules[i]; r.matches(below, isDir) {
				return !r.keep
			}
		}
	}
	return false
}

func (r rule) matches(below string, isDir bool) bool {
	if r.dirsOnly && !isDir {
		return false
	}
	if !r.anchored {
		below = path.Base(below)
	}
	return doublestar.MatchUnvalidated(r.pattern, below)
}

// layer adds the ignore file of dir, if it has one that can be read, to those above it. As for git, a link is none. The
// error is that of the context.
func (f *Files) layer(ctx context.Context, l *layer, dir string) (*layer, error) {
	name := path.Join(dir, ignoreFile)
	if info, err := f.root.Lstat(name); err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnore {
		return l, nil
	}
	data, _, err := f.whole(ctx, name)
	if err != nil {
		return l, ctx.Err()
	}
	if rules := parseIgnore(string(data)); len(rules) > 0 {
		l = &layer{above: l, dir: dir, rules: rules}
	}
	return l, nil
}

// parseIgnore reads an ignore file by the rules of gitignore(5). Lines that are no pattern match nothing.
func parseIgnore(text string) []rule {
	var rules []rule
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		line = trimSpaces(strings.TrimSuffix(line, "\r"))
		if line == "" || line[0] == '#' {
			continue
		}
		var r rule
		line, r.keep = strings.CutPrefix(line, "!")
		line, r.dirsOnly = strings.CutSuffix(line, "/")
		r.anchored = strings.Contains(line, "/")
		line = strings.TrimPrefix(line, "/")
		if strings.HasSuffix(line, "/**") { // everything inside, not the directory
			line += "/*"
		}
		r.pattern = braces.Replace(line)
		if line != "" && doublestar.ValidatePattern(r.pattern) {
			rules = append(rules, r)
		}
	}
	return rules
}

// braces mean nothing to git.
var braces = strings.NewReplacer(`\\`, `\\`, `\{`, `\{`, `\}`, `\}`, "{", `\{`, "}", `\}`)

// trimSpaces drops the spaces at the end of a line, but for one that is escaped.
func trimSpaces(line string) string {
	for strings.HasSuffix(line, " ") {
		slashes := 0
		for i := len(line) - 2; i >= 0 && line[i] == '\\'; i-- {
			slashes++
		}
		if slashes%2 == 1 {
			break
		}
		line = line[:len(line)-1]
	}
	return line
}

// walk visits everything below rel, directories before what is in them, each directory in the order of its names; a
// file is visited itself. It follows no link, and skips what is ignored unless ignored is true. It returns how many
// directories could not be read.
func (f *Files) walk(ctx context.Context, rel string, ignored bool, visit func(rel string, mode fs.FileMode) error) (unread int, err error) {
	info, err := f.root.Lstat(rel)
	if err != nil {
		return 0, failed(rel, err)
	}
	if !info.IsDir() {
		return 0, visit(rel, info.Mode().Type())
	}
	var top *layer
	if !ignored {
		for _, dir := range above(rel) {
			if top, err = f.layer(ctx, top, dir); err != nil {
				return 0, err
			}
		}
	}
	var into func(dir string, l *layer) error
	into = func(dir string, l *layer) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		entries, err := f.entries(dir)
		if err != nil && dir == rel {
			return failed(rel, err)
		}
		if err != nil {
			unread++
			return nil
		}
		if !ignored {
			if l, err = f.layer(ctx, l, dir); err != nil {
				return err
			}
		}
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			name := path.Join(dir, e.Name())
			if !ignored && (e.Name() == ".git" || l.ignored(name, e.IsDir())) {
				continue
			}
			if err := visit(name, e.Type()); err != nil {
				return err
			}
			if e.IsDir() {
				if err := into(name, l); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return unread, into(rel, top)
}
