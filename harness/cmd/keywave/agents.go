package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/keywave-go/keywave/exec"
	"github.com/keywave-go/keywave/tool"
)

// Sources are the files of several batches, or the standard input. On the command line they follow the flag, however
// many they are.
type sources []string

// Decode implements [kong.MapperValue].
func (s *sources) Decode(ctx *kong.DecodeContext) error {
	found := ctx.Scan.PopWhile(kong.Token.IsValue)
	if len(found) == 0 {
		return errors.New("expected the file of a batch, or several")
	}
	for _, t := range found {
		*s = append(*s, t.String())
	}
	return nil
}

// stdins is how often the standard input is among them.
func (s sources) stdins() (n int) {
	for _, from := range s {
		if from == standardInput {
			n++
		}
	}
	return n
}

// names names an agent after each: short names, fit to be shown, and no two the same.
func (s sources) names() []string {
	const widest = 20
	names, bases := make([]string, len(s)), map[string]bool{}
	for i, from := range s {
		name := strings.TrimSuffix(filepath.Base(from), ".json")
		switch {
		case from == standardInput:
			name = "stdin"
		case name == "":
			name = ".json"
		}
		names[i] = clip(clean(name), widest)
		bases[names[i]] = true
	}
	// What one is called after its file, no other gets as its name with a number.
	taken := map[string]bool{}
	for i, base := range names {
		for n := 2; taken[names[i]] || names[i] != base && bases[names[i]]; n++ {
			names[i] = base + "-" + strconv.Itoa(n)
		}
		taken[names[i]] = true
	}
	return names
}

// A delay is what the calls of one agent waited for those of others.
type delay struct {
	waits   int
	total   time.Duration
	call    string    // that with the longest wait
	longest exec.Wait // of all
}

func (done performance) delay() (d delay) {
	d.add(done.batch, done.spans)
	for i := range done.spans {
		if brood := done.broods[i]; brood != nil {
			d.add(&batch{calls: brood.calls, within: fmt.Sprintf("%d.", i+1)}, brood.spans)
		}
	}
	return d
}

func (d *delay) add(b *batch, spans []exec.Span) {
	for i, s := range spans {
		for _, w := range joined(s.Waits) {
			if w.For != exec.WaitDomain {
				continue
			}
			d.waits++
			took := w.To - w.From
			d.total += took
			if took > d.longest.To-d.longest.From {
				d.call, d.longest = fmt.Sprintf("call %s%d (%s)", b.within, i+1, b.label(i)), w
			}
		}
	}
}

// wall is how long all of it took.
func wall(all []performance) (d time.Duration) {
	for _, done := range all {
		d = max(d, done.wall)
	}
	return d
}

// agentsText shows the results of each agent, and then what they waited for each other.
func agentsText(all []performance, width, most int, p painter) string {
	var out strings.Builder
	var results []tool.Result
	var rows [][]string
	waits := 0
	for _, done := range all {
		results = append(results, done.results...)
		out.WriteString(p.bold(done.agent) + "\n")
		out.WriteString(done.text(width, most, p) + "\n")
		d := done.delay()
		row := []string{done.agent, strconv.Itoa(len(done.results)), short(done.wall), strconv.Itoa(d.waits), "", ""}
		if d.waits > 0 {
			row[4] = short(d.total)
			row[5] = fmt.Sprintf("%s waited %s for %s", d.call, short(d.longest.To-d.longest.From), done.waitsFor(d.longest))
		}
		rows = append(rows, row)
		waits += d.waits
	}
	head := count(len(all), "agent") + ", " + count(len(results), "call")
	if len(results) > 0 {
		head += ": " + tally(results)
	}
	out.WriteString(head + ", in " + short(wall(all)) + "\n")
	if waits == 0 {
		out.WriteString("No call waited for one of another agent.\n")
		return out.String()
	}
	out.WriteString("What their calls waited for those of other agents:\n")
	cols := []column{
		{head: "agent"}, {head: "calls", right: true}, {head: "time", right: true}, {head: "waits", right: true}, {head: "in all", right: true},
		{head: "the longest of them", rest: true},
	}
	out.WriteString(table(width, cols, rows, func(row, col int, cell string) string {
		switch {
		case row < 0:
			return p.faint(cell)
		case col == 0:
			return p.bold(cell)
		}
		return cell
	}))
	return out.String()
}

type agentsJSON struct {
	SharedLimit *int        `json:"sharedLimit,omitempty"`
	Interrupted bool        `json:"interrupted"`
	WallMs      float64     `json:"wallMs"`
	Agents      []agentJSON `json:"agents"`
}

type agentJSON struct {
	Name string `json:"name"`
	runJSON
}

func (c *runCommand) agentsJSON(all []performance) agentsJSON {
	out := agentsJSON{SharedLimit: c.SharedLimit, WallMs: milliseconds(wall(all)), Agents: []agentJSON{}}
	for _, done := range all {
		out.Interrupted = out.Interrupted || done.interrupted
		out.Agents = append(out.Agents, agentJSON{done.agent, c.json(done)})
	}
	return out
}
