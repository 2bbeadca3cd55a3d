package page

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/keywave-go/keywave/bench/replay"
)

// sources are where a report comes from. What all their names have in common is said once, and not in each row.
type sources struct {
	One string // the name of all of them, if there is only one
	Dir string // else the directory that all of them are in, up to and with the last separator; empty: none
}

func sourcesOf(r *replay.Report) sources {
	var names []string
	add := func(name string) {
		if name != "" {
			names = append(names, name)
		}
	}
	for _, s := range r.Sessions {
		add(s.File)
	}
	for _, b := range r.Batches {
		add(b.File)
	}
	for _, p := range r.Problems {
		add(p.File)
	}
	if len(names) == 0 {
		return sources{}
	}
	// What the first and the last have in common, all have.
	first, last := slices.Min(names), slices.Max(names)
	if first == last {
		return sources{One: first}
	}
	n := 0
	for n < min(len(first), len(last)) && first[n] == last[n] {
		n++
	}
	n = strings.LastIndexAny(first[:n], `/\`) + 1
	if strings.Trim(first[:n], `./\`) == "" {
		n = 0 // a root says nothing
	}
	return sources{Dir: first[:n]}
}

// Short is what is special about a name. Of a long one it is the end: that is where paths differ.
func (s sources) Short(name string) string {
	if rest := strings.TrimPrefix(name, s.Dir); rest != "" {
		name = rest
	}
	runes := 0
	for i := len(name); i > 0; {
		_, size := utf8.DecodeLastRuneInString(name[:i])
		if runes++; runes > longest {
			return "…" + named(name[i:])
		}
		i -= size
	}
	return named(name)
}

// Said is what all have in common, as the end of a caption.
func (s sources) Said() string {
	switch {
	case s.One != "":
		return ", all from " + sources{}.Short(s.One)
	case s.Dir != "":
		return ", from sources in " + sources{}.Short(s.Dir)
	}
	return ""
}

// A rows is a table of sessions: what a column would say of each of them alike has no column.
type rows struct {
	ID, Caption string
	Sources     sources
	Sessions    []replay.Session
	Formats     bool
}

// sessionsOf is the sessions with batches, those first in which keyed saves most, and how many have none.
func sessionsOf(r *replay.Report, from sources) (tables []rows, without int) {
	all := slices.DeleteFunc(slices.Clone(r.Sessions), func(s replay.Session) bool { return s.Batches == 0 })
	slices.SortStableFunc(all, func(a, b replay.Session) int {
		if a.File == "" || b.File == "" {
			return cmp.Compare(b.File, a.File) // what is all others comes last
		}
		for _, base := range []string{"rolling", "serial"} {
			x, y := timeOf(a.Figures, base)-timeOf(a.Figures, "keyed"), timeOf(b.Figures, base)-timeOf(b.Figures, "keyed")
			if by := cmp.Compare(y, x); by != 0 {
				return by
			}
		}
		return cmp.Compare(fewer(b.Figures), fewer(a.Figures))
	})
	t := rows{Sources: from}
	for _, s := range all {
		t.Formats = t.Formats || s.Format != all[0].Format
	}
	for i, part := range fold(all, sessionRows) {
		t.ID, t.Caption, t.Sessions = "sessions-cap", "Figures by session", part
		if i > 0 {
			t.ID, t.Caption = "sessions-more", "The other sessions"
		}
		if len(part) > 0 {
			tables = append(tables, t)
		}
	}
	return tables, len(r.Sessions) - len(all)
}

// fewer is how many steps keyed takes less than the rolling pool.
func fewer(f replay.Figures) int { return stepsOf(f, "rolling") - stepsOf(f, "keyed") }
