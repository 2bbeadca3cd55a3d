package main

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/bench/replay"
)

// Links in a directory are not followed, those that are named are, and nothing is read twice.
func TestReplayFiles(t *testing.T) {
	dir := workDir(t, map[string]string{"in/a.jsonl": answer(0), "in/b/c.ndjson": answer(1), "in/.git/d.jsonl": answer(2), "in/e.log": answer(3), "out/f.jsonl": answer(4)})
	at := func(name string) string { return filepath.Join(dir, name) }
	for link, to := range map[string]string{"in/g.jsonl": "out/f.jsonl", "in/h": "out", "named": "in", "in/gone.json": "nothing"} {
		require.NoError(t, os.Symlink(at(to), at(link)))
	}
	files := func(args ...string) []string {
		found, err := findTranscripts(context.Background(), nil, args)
		require.NoError(t, err)
		names := []string{}
		for _, s := range found.sources {
			names = append(names, strings.TrimPrefix(s.Name, dir+string(filepath.Separator)))
			in, err := s.Open()
			require.NoError(t, err)
			require.NoError(t, in.Close())
		}
		return names
	}
	assert.Equal(t, []string{"in/a.jsonl", "in/b/c.ndjson"}, files(at("in")))
	assert.Equal(t, []string{"named/a.jsonl", "named/b/c.ndjson"}, files(at("named")), "as it was named")
	assert.Equal(t, []string{"in/a.jsonl", "in/b/c.ndjson"}, files(at("in"), at("named"), at("in/b/c.ndjson"), at("in")+"/"))
	assert.Equal(t, []string{"in/e.log", "in/g.jsonl"}, files(at("in/e.log"), at("in/g.jsonl")), "whatever they are called")

	t.Chdir(at("named"))
	assert.Equal(t, []string{"a.jsonl"}, files("a.jsonl", at("in/a.jsonl"), at("named/a.jsonl")), "by whatever way")

	// Nor is there a wait for the walk where there are none.
	ended, end := context.WithCancelCause(context.Background())
	end(errInterrupted)
	_, err := findTranscripts(ended, nil, []string{at("in")})
	assert.ErrorIs(t, err, errInterrupted)

	// One without transcripts among others is told.
	require.NoError(t, os.Mkdir(at("empty"), 0o700))
	r := replayJSON(t, "", at("in"), at("empty"))
	assert.Equal(t, []replay.Problem{{File: at("empty"), Kind: "no transcripts", Text: noTranscripts, Count: 1}}, r.Problems)
	assert.Equal(t, 2, r.Total.Batches)
}

// A batch is in the file of its own, also if its session began in another one: sub-agents have files of their own.
func TestReplayOfASessionInTwoFiles(t *testing.T) {
	dir := workDir(t, map[string]string{"a.jsonl": use("m", "x", "Read", "{}", 0), "b.jsonl": answer(1)})
	t.Chdir(dir)
	code, out, errOut := keywave(t, "", "replay", ".")
	require.Equal(t, exitDone, code, errOut)
	assert.Regexp(t, `(?m)^b\.jsonl:1 `, out)
	assert.NotContains(t, out, "a.jsonl:1 ")
}

// A file that cannot be read is told, and the others are read. If it is the only one, nothing can be.
func TestReplayOfFilesThatCannotBeRead(t *testing.T) {
	for _, all := range []bool{false, true} {
		dir := workDir(t, map[string]string{"a.jsonl": answer(0), "b.jsonl": answer(1), "c.jsonl": answer(2)})
		found, err := findTranscripts(context.Background(), nil, []string{dir})
		require.NoError(t, err)
		for _, name := range []string{"a.jsonl", "b.jsonl", "c.jsonl"} {
			if all || name == "b.jsonl" {
				require.NoError(t, os.Remove(filepath.Join(dir, name)))
			}
		}
		if all {
			for _, s := range slices.Backward(found.sources) { // whichever is tried first
				_, err := s.Open()
				require.Error(t, err)
			}
		}
		r, err := replay.Run(context.Background(), found.sources, replay.Options{})
		if all {
			assert.EqualError(t, found.unread(), "none of 3 transcripts can be read; of the first: "+filepath.Join(dir, "a.jsonl")+": no such file or directory")
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, 2, r.Total.Batches)
		require.Len(t, r.Problems, 1)
		assert.Equal(t, filepath.Join(dir, "b.jsonl"), r.Problems[0].File)
		assert.Contains(t, r.Problems[0].Text, "no such file")
	}
}

// So it is if it can be opened and not read, or not even that: a socket is no file.
func TestReplayOfNothingThatCanBeRead(t *testing.T) {
	dir, err := os.MkdirTemp("", "s") // that of a test is too long for a socket
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s.jsonl")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	code, out, errOut := keywave(t, "", "replay", socket)
	assert.Equal(t, exitUsage, code)
	assert.Empty(t, out)
	assert.Regexp(t, "^keywave: "+regexp.QuoteMeta(socket)+": [^/]+\n$", errOut)

	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte(answer(0)), 0o600))
	r := replayJSON(t, "", socket, filepath.Join(dir, "a.jsonl"))
	assert.Equal(t, 1, r.Total.Batches)
	require.Len(t, r.Problems, 1)
	assert.Equal(t, socket, r.Problems[0].File)
}
