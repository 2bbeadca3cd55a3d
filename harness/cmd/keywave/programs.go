package main

import (
	"errors"

	"github.com/keywave-go/keywave/codemode"
	"github.com/keywave-go/keywave/plan"
	"github.com/keywave-go/keywave/tool"
)

// How a model is shown the tools, by the names that people type.
var presentations = map[string]codemode.Presentation{"native": codemode.Native, "code": codemode.Code, "both": codemode.Both}

type codeFlag struct {
	Code string `enum:"native,code,both" default:"both" help:"What calls can name: native, the tools; code, only run_code, whose programs call them; or both."`
}

// present has calls of batches run programs, if they are to. What it returns ends those.
func (f codeFlag) present(h host, admission string, batches ...*batch) (end func(), err error) {
	runtime, closeRuntime, err := h.runtime()
	if err != nil {
		return nil, err
	}
	for _, b := range batches {
		b.nest = newNest()
		v, err := codemode.New(runtime, b.registry, codemode.Present(presentations[f.Code]), codemode.Admit(programAdmission(admission)), codemode.Timeline(b.nest.timeline))
		if err != nil {
			return nil, errors.Join(err, closeRuntime())
		}
		b.tools = v
	}
	return func() { _ = closeRuntime() }, nil
}

// programAdmission says what the calls of programs are admitted by. A program makes them one by one, so that there is
// nothing that waves could be planned of, and models are told that the order of calls in conflict is kept.
func programAdmission(admission string) func() plan.Admission {
	switch admission {
	case "serial", "rolling":
		return admissions[admission]
	}
	return plan.NewKeyed
}

// runsPrograms reports whether a call is one of the tool that runs programs.
func runsPrograms(c tool.Invocation) bool {
	return c.Definition != nil && c.Definition.Name == codemode.Name
}
