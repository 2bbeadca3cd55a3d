package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/tool"
)

// children are processes that one has started, and that are there: in a moment of change the system may leave some out.
func children(pid int) (all []int) {
	lists, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children") // none, if it has gone
	for _, list := range lists {
		data, _ := os.ReadFile(list)
		for _, child := range strings.Fields(string(data)) {
			if n, err := strconv.Atoi(child); err == nil {
				all = append(all, n)
			}
		}
	}
	return all
}

// gone waits until a process is not there any more, or only for its parent to take note of its end.
func gone(t *testing.T, pid int) {
	t.Helper()
	eventually(t, fmt.Sprintf("process %d ends", pid), func() bool {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		_, state, _ := strings.Cut(string(stat), ") ")
		return err != nil || strings.HasPrefix(state, "Z")
	})
}

func eventually(t require.TestingT, what string, is func() bool) {
	for deadline := time.After(time.Minute); !is(); {
		select {
		case <-deadline:
			require.Fail(t, "it never comes to it: "+what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Programs run in processes of their own, which end with them, with the first signal, and with the command, however it
// ends.
func TestProgramsEndWithTheCommand(t *testing.T) {
	for what, end := range map[string]func(p *os.Process) error{
		"a ctrl-C":   func(p *os.Process) error { return p.Signal(os.Interrupt) },
		"two":        func(p *os.Process) error { _ = p.Signal(os.Interrupt); return p.Signal(syscall.SIGTERM) },
		"a kill":     func(p *os.Process) error { return p.Kill() },
		"a terminal": func(p *os.Process) error { return p.Signal(syscall.SIGHUP) },
	} {
		t.Run(what, func(t *testing.T) {
			dir := workDir(t, nil)
			batch := `{"calls":[` + runsCode("p", "never ends", `await tools.write({path: "begun", content: ""}); for (;;);`) + `]}`
			var said bytes.Buffer
			process := osexec.Command(os.Args[0], "run", "-", "--dir", dir)
			process.Env, process.Stdin, process.Stdout, process.Stderr = append(os.Environ(), asCommand+"=1"), strings.NewReader(batch), &said, &said
			require.NoError(t, process.Start())
			defer func() { _ = process.Process.Kill() }() // if something fails
			var workers []int
			eventually(t, "the program begins", func() bool {
				_, err := os.Stat(filepath.Join(dir, "begun"))
				workers = children(process.Process.Pid)
				return err == nil && len(workers) == 1
			})
			require.NoError(t, end(process.Process))
			err := process.Wait()
			require.Error(t, err)
			if what != "a kill" {
				assert.Equal(t, exitInterrupted, process.ProcessState.ExitCode(), said.String())
			}
			if what == "a ctrl-C" {
				assert.Contains(t, said.String(), "✗ 1  run_code never ends  ABORTED")
				assert.Contains(t, said.String(), "1.1  write begun")
			}
			for _, w := range workers {
				gone(t, w)
			}
		})
	}
}

// Where there is no program there is no process for it.
func TestNoProgramNoWorker(t *testing.T) {
	type input struct {
		Want int `json:"want"`
	}
	workers, err := tool.Define(tool.Spec[input, int]{Name: "workers", Body: func(_ context.Context, in input) (n int, err error) {
		eventually(t, "there are as many workers", func() bool {
			n = len(children(os.Getpid()))
			return n >= in.Want
		})
		return n, nil
	}})
	require.NoError(t, err)
	v := invocation{
		stdin: strings.NewReader(`{"calls":[{"name":"workers","arguments":{"want":0}},` + runsCode("p", "asks", `return await tools.workers({want: 1})`) + `]}`),
		tools: []*tool.Definition{workers}, runtime: newRuntime,
	}
	assert.Equal(t, exitDone, v.run(t, "run", "-", "--dir", t.TempDir(), "--json", "--code=both"), v.errOut.String())
	var got runJSON
	require.NoError(t, json.Unmarshal([]byte(v.out.String()), &got))
	require.Len(t, got.Calls, 2)
	assert.Equal(t, []string{"0", "1"}, []string{got.Calls[0].Text, got.Calls[1].Text})
	assert.Empty(t, children(os.Getpid()), "they end with the command")
}
