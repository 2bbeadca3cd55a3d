package main

// A painter colours text for a terminal, or leaves it as it is.
type painter bool

// paint returns the painter for s: colours are for terminals that know them, and for people who want them.
func (h host) paint(s stream) painter {
	_, _, terminal := s.size()
	return painter(terminal && h.env("NO_COLOR") == "" && h.env("TERM") != "dumb")
}

func (p painter) in(code, s string) string {
	if !p {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p painter) bold(s string) string  { return p.in("1", s) }
func (p painter) faint(s string) string { return p.in("2", s) }
func (p painter) good(s string) string  { return p.in("32", s) }
func (p painter) bad(s string) string   { return p.in("31", s) }
func (p painter) warm(s string) string  { return p.in("33", s) }
func (p painter) cool(s string) string  { return p.in("36", s) }

// shape is the size of s, or of a page where it is not a terminal.
func (s stream) shape() (width, height int, terminal bool) {
	if width, height, terminal = s.size(); terminal {
		return min(width, 120), height, true
	}
	return 100, 24, false
}
