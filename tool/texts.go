package tool

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// What the model is told of a call whose result is not the tool's own: what happened, and whether the effect may have
// happened. Errors are somebody else's, and their Error may panic: package fmt does not.

const check = "Check what has happened before you try again."

// noResult is the text of the result of a call that a failed lane never came to.
const noResult = "The dispatch of the call produced no result: it was not run."

// coded is a result that is not the tool's own.
func coded(c Code, format string, args ...any) Result {
	return Result{Code: c, IsError: true, Content: []Block{{Text: fmt.Sprintf(format, args...)}}}
}

// failed is the tool's own result when that is an error.
func failed(err error) Result {
	r := Text(strings.ToValidUTF8(fmt.Sprint(err), "\uFFFD"))
	r.IsError = true
	r.ErrorName = errorName(err)
	return r
}

// errorName is the type of an error, as the package that has made it calls it: of the first around which there is none
// that only adds words. An error of words alone has no name.
func errorName(err error) string {
	for ; err != nil; err = errors.Unwrap(err) {
		name := strings.TrimLeft(fmt.Sprintf("%T", err), "*")
		if pkg, _, _ := strings.Cut(name, "."); pkg != "errors" && pkg != "fmt" {
			return name
		}
	}
	return ""
}

func unknownTool(t Tools, c Call, hint string) Result {
	var names []string
	for _, d := range t.Definitions() {
		names = append(names, named(d.Name))
	}
	known := "There are no tools."
	if more := len(names) - maxNames; more > 0 {
		known = fmt.Sprintf("The tools are: %s, and %d more.", strings.Join(names[:maxNames], ", "), more)
	} else if len(names) > 0 {
		known = fmt.Sprintf("The tools are: %s.", strings.Join(names, ", "))
	}
	if hint != "" {
		known += " " + bounded(hint, maxReason)
	}
	return coded(UnknownTool, "There is no tool %s: nothing was run. %s", quoted(c.Name), known)
}

func invalidArguments(c Call, problems []string) Result {
	were := "were: " + bounded(c.Arguments, maxEcho)
	if strings.TrimSpace(c.Arguments) == "" {
		were = "were empty."
	}
	return coded(InvalidArgs, "The arguments of %s are invalid: it was not run.\n- %s\nThe arguments %s", named(c.Name), listed(problems), were)
}

// listed is what is wrong with something, a line each.
func listed(problems []string) string {
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(problems, "\n- ")
}

// reason words a cause.
func reason(cause error) string {
	if cause == nil {
		return "no cause given"
	}
	return bounded(fmt.Sprint(cause), maxProblem)
}

func notRun(name string, cause error) Result {
	return coded(AbortedBeforeDispatch, "%s was not run: it was cancelled before it started (%s). Nothing was done.", named(name), reason(cause))
}

func lateStart(name string, late *TimeoutError) Result {
	return coded(TimeoutBeforeDispatch, "%s was not run: its deadline, %v after it was called, passed while it waited. Nothing was done.", named(name), late.After)
}

func unclaimed(name string, cause error) Result {
	return coded(Denied, "%s was not run: its claims were refused (%s). Nothing was done.", named(name), reason(cause))
}

func moved(name string, claim fmt.Stringer) Result {
	return coded(Denied, "%s was not run: what its arguments name has changed while it waited (it would now use %v, which it has not claimed). Nothing was done. "+
		"Call it again.", named(name), claim)
}

func denied(name, why string) Result {
	if why == "" {
		return coded(Denied, "%s was not run: it is not allowed. Nothing was done.", named(name))
	}
	return coded(Denied, "%s was not run: it is not allowed. Nothing was done. The reason: %s", named(name), bounded(why, maxReason))
}

func rejected(name, why string) Result {
	if why == "" {
		return coded(ApprovalRejected, "%s was not run: it was asked about, and rejected. Nothing was done.", named(name))
	}
	return coded(ApprovalRejected, "%s was not run: it was asked about, and rejected. Nothing was done. The answer: %s", named(name), bounded(why, maxReason))
}

func unanswered(name string, after time.Duration) Result {
	return coded(ApprovalTimeout, "%s was not run: it needs approval, and nobody answered within %v. That is no refusal. Nothing was done.", named(name), after)
}

func unavailable(name string, cause error) Result {
	return coded(ApprovalUnavailable, "%s was not run: it needs approval, and there is nobody to ask (%s). Nothing was done.", named(name), reason(cause))
}

func withdrawn(name string, cause error) Result {
	return coded(ApprovalCancelled, "%s was not run: it was cancelled (%s) before its approval was there. Nothing was done.", named(name), reason(cause))
}

// The results below keep what the tool returned, below a notice.

func aborted(name string, cause error, own Result) Result {
	return below(own, coded(Aborted, "%s was cancelled while it ran (%s). Its effect may have happened, wholly or in part. %s", named(name), reason(cause), check))
}

func timedOut(name string, cause error, own Result) Result {
	return below(own, coded(Timeout, "%s did not end in time (%s). Its effect may have happened, wholly or in part. %s", named(name), reason(cause), check))
}

// below puts what a tool returned below a notice.
func below(own, notice Result) Result {
	if len(own.Content) > 0 {
		notice.Content[0].Text += " What it returned:"
	}
	notice.Content = append(notice.Content, own.Content...)
	notice.Value, notice.Meta, notice.Contexts = own.Value, own.Meta, own.Contexts
	return notice
}

func abandoned(name string, cause error) Result {
	return coded(Abandoned, "%s was cancelled while it ran (%s) and did not stop in time: it may still be running, and its effect may have happened. %s", named(name), reason(cause), check)
}

func interrupted(name string) Result {
	return coded(Interrupted, "%s was running when the process ended: its effect may have happened, wholly or in part. %s", named(name), check)
}

func panicked(name string, what string) Result {
	return coded(Panic, "%s failed: %s. Its effect may have happened, wholly or in part. %s", named(name), bounded(what, maxProblem), check)
}

func invalidOutput(name string, err error) Result {
	var output *outputError
	if errors.As(err, &output) && len(output.problems) > 1 {
		return coded(InvalidToolOutput, "%s ran, but its result cannot be shown. Its effect may have happened. %s\n- %s", named(name), check, listed(output.problems))
	}
	return coded(InvalidToolOutput, "%s ran, but its result cannot be shown: %s. Its effect may have happened. %s", named(name), bounded(fmt.Sprint(err), maxProblem), check)
}

func blocked(name, why string) Result {
	return coded(Blocked, "%s ran, but its result is withheld. Its effect may have happened. The reason: %s", named(name), bounded(why, maxReason))
}
