package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/tool"
)

// A solo is what came of a program that made all calls of a turn.
type solo struct {
	wall   time.Duration
	calls  int
	edited []string // files
	faults []string
}

// String says it for people.
func (s *solo) String() string {
	return fmt.Sprintf("✓ A program searched, read and edited %s in one call of the model's: %s in %s. Nothing else was changed.",
		count(len(s.edited), "file"), count(s.calls, "call"), short(s.wall))
}

const (
	soloMark = " (found by a program)"
	soloMost = 4 // files
)

// How long the calls of the program are made to take.
var soloTakes = map[string]time.Duration{"grep": 52 * time.Millisecond, "read": 31 * time.Millisecond, "edit": 47 * time.Millisecond}

// soloProgram is what the model writes, to mark a line with some word in several files.
func soloProgram(word string) string {
	return fmt.Sprintf(`const {matches} = await tools.grep({pattern: %[1]q});
const paths = [...new Set(matches.map(m => m.path))].filter(p => !p.endsWith("_test.go"));
const once = (text, line) => text.split(line).length === 2;
const edits = await Promise.all(paths.slice(0, %[2]d).map(async path => {
  const {text, cut} = await tools.read({path});
  const old = text.split("\n").find(l => l.includes(%[1]q) && once(text, l));
  return old && !cut && tools.edit({path, old, new: old + %[3]q});
}));
return edits.filter(Boolean).length + " of " + paths.length + " files are marked";
`, word, soloMost, soloMark)
}

var words = regexp.MustCompile(`[A-Za-z]{4,}`)

// soloWord is a word that stands in as many of the files as any.
func soloWord(texts []sourceFile) (word string) {
	files := map[string]int{}
	for _, f := range texts {
		seen := map[string]bool{}
		for _, w := range words.FindAllString(strings.Join(f.onlyOnce(20), "\n"), -1) {
			if !seen[w] {
				seen[w] = true
				files[w]++
			}
		}
	}
	for w, n := range files {
		if n > files[word] || n == files[word] && w < word {
			word = w
		}
	}
	return word
}

// runSolo has a program make the calls, in a copy of the tree, and shows when each ran.
func (d *demo) runSolo(ctx context.Context) error {
	dir, err := d.copy(ctx, "program")
	if err != nil {
		return err
	}
	code := soloProgram(soloWord(d.turn.texts))
	arguments, err := json.Marshal(codemode.Program{Code: code, Description: "mark what is found"})
	if err != nil {
		return err
	}
	b := &batch{
		source: "demo", latencyWithin: soloTakes,
		calls: []tool.Call{{ID: "call_01", Name: codemode.Name, Arguments: string(arguments)}},
	}
	closeTools, err := b.openTools(dir)
	if err != nil {
		return err
	}
	defer closeTools()
	closePrograms, err := codeFlag{"both"}.present(d.host, "keyed", b)
	if err != nil {
		return err
	}
	defer closePrograms()
	d.title("One call that makes many: a program of the model's")
	for line := range strings.Lines(code) {
		d.say("  %s", d.cool(clip(strings.TrimSuffix(line, "\n"), d.width-2)))
	}
	d.say("")
	pf := performer{admission: "keyed", limit: 1}
	if d.terminal {
		pf.progress = d.watch(d.stdout, b)
		pf.progress.still = true
	}
	all, err := pf.perform(ctx, b)
	if err != nil {
		return err
	}
	done := all[0]
	if done.interrupted {
		return errInterrupted
	}
	fmt.Fprint(d.stdout, gantt(d.width, done.nestedBars(0), done.wall))
	s := &solo{wall: done.wall}
	got := 0
	if brood := done.broods[0]; brood != nil {
		for _, r := range brood.results {
			if s.calls++; r != nil {
				got += len(r.Text())
			}
		}
	}
	text := done.results[0].Text()
	d.say("")
	d.para(plain, "The model is shown %s of the %s that its calls returned: %s", count(len(text), "byte"), count(got, "byte"), clean(text))
	if err := s.judge(ctx, done, dir, d.tree); err != nil {
		return err
	}
	d.solo = s
	return nil
}

// judge finds what is not as it has to be.
func (s *solo) judge(ctx context.Context, done performance, dir string, before *sourceTree) error {
	if r := done.results[0]; r.IsError {
		s.faults = append(s.faults, "the program failed: "+clean(r.Text()))
	}
	edits := map[string]bool{} // by path: an edit of it was done
	if brood := done.broods[0]; brood != nil {
		for i, r := range brood.results {
			if brood.calls[i].Name == "edit" && r != nil && !r.IsError {
				var in struct{ Path string }
				if err := json.Unmarshal([]byte(brood.calls[i].Arguments), &in); err != nil {
					return err
				}
				edits[in.Path] = true
			}
		}
	}
	for _, f := range before.files {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.path)))
		if err != nil {
			return err
		}
		if changed := !bytes.Equal(data, f.data); changed {
			s.edited = append(s.edited, f.path)
			if !bytes.Equal(bytes.Replace(data, []byte(soloMark), nil, 1), f.data) {
				s.faults = append(s.faults, f.path+" is not as the program should have left it")
			}
		}
		if slices.Contains(s.edited, f.path) != edits[f.path] {
			s.faults = append(s.faults, f.path+" does not agree with the calls of the program")
		}
	}
	if len(s.edited) < 2 {
		s.faults = append(s.faults, "the program edited "+count(len(s.edited), "file"))
	}
	return nil
}
