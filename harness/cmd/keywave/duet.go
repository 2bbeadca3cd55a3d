package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/keywave-go/keywave/exec"
)

// How long every edit of a duet is made to take.
const duetDelay = 40 * time.Millisecond

// A duet is what came of two agents that edited the same files at once.
type duet struct {
	files  int
	edits  int
	waits  int // for the other agent
	wall   time.Duration
	faults []string
}

// String says it for people.
func (t *duet) String() string {
	return fmt.Sprintf("✓ Two agents edited the same %s at once, in opposite orders, over one Domain: %s of %s in %s; %d waited for the other agent. Every file holds both edits.",
		count(t.files, "file"), count(t.edits, "edit"), short(duetDelay), short(t.wall), t.waits)
}

// runDuet runs it, in a copy of the tree. Each agent edits a line of its own in every file, the second one from the
// last file to the first.
func (d *demo) runDuet(ctx context.Context) error {
	dir, err := d.copy(ctx, "agents")
	if err != nil {
		return err
	}
	want := map[string][]byte{}
	var batches []*batch
	for line, name := range []string{"A", "B"} {
		texts := slices.Clone(d.turn.texts)
		if line == 1 {
			slices.Reverse(texts)
		}
		var t turn
		for _, f := range texts {
			old := f.onlyOnce(2)[line]
			edited := old + " (edited by agent " + name + ")"
			t.add(int(duetDelay.Milliseconds()), "edit", map[string]any{"path": f.path, "old": old, "new": edited})
			if want[f.path] == nil {
				want[f.path] = f.data
			}
			want[f.path] = bytes.Replace(want[f.path], []byte(old), []byte(edited), 1)
		}
		batches = append(batches, &batch{source: "demo", agent: name, calls: t.calls, latency: t.latency})
	}
	closeTools, err := openTools(dir, batches)
	if err != nil {
		return err
	}
	defer closeTools()
	done, err := performer{admission: "waves", limit: exec.DefaultLimit}.perform(ctx, batches...)
	if err != nil {
		return err
	}
	d.duet = &duet{files: len(want), wall: wall(done)}
	for _, agent := range done {
		if agent.interrupted {
			d.say("interrupted")
			return errInterrupted
		}
		d.duet.edits += len(agent.calls)
		d.duet.waits += agent.delay().waits
		for i, r := range agent.results {
			if r.IsError {
				d.duet.faults = append(d.duet.faults, fmt.Sprintf("agent %s, call %d failed: %s", agent.agent, i+1, clean(r.Text())))
			}
		}
	}
	for _, f := range d.turn.texts {
		got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.path)))
		if err != nil {
			return err
		}
		if !bytes.Equal(got, want[f.path]) {
			d.duet.faults = append(d.duet.faults, fmt.Sprintf("%s does not hold the edits of both agents", clean(f.path)))
		}
	}
	return nil
}
