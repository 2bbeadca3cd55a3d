package tool

import (
	"context"
	"encoding/json"
	"fmt"
)

// finalize is the last stage, in the model's order.
func (j *Job) finalize(ctx context.Context) {
	j.clock.stop()
	if !j.clock.started { // it never came to its start, or not in a lane of this process
		j.Binding = j.Tools.Bind(j.Call.Name)
		j.Arguments = arguments(j.Call)
	}
	j.review(ctx)
	j.finish(ctx)
	d := j.Definition
	j.Result.Concludes = d != nil && (d.last && j.Result.Code == "" && !j.Result.IsError || d.runs && j.Result.Concludes)
	if j.Parent == nil { // no model is shown what a program gets
		j.shorten(ctx)
	}
}

// review lets the reviewers see what the tool returned, if it did.
func (j *Job) review(ctx context.Context) {
	r := &j.Result
	notice := 0 // blocks that are not the tool's
	switch r.Code {
	case "", CodeRunFailed:
	case Aborted, Timeout:
		if notice = min(1, len(r.Content)); len(r.Content) == notice && len(r.Value) == 0 {
			return
		}
	default:
		return
	}
	for _, reviewer := range j.Pipeline.Reviewers {
		own := *r
		own.Content = r.Content[notice:len(r.Content):len(r.Content)]
		v, err := safely(func() (Review, error) { return reviewer(ctx, &j.Invocation, own) })
		if err == nil {
			v.Contexts, err = tidyContexts(v.Contexts, "")
		}
		if err == nil && v.Content != nil {
			v.Content, err = tidyBlocks(v.Content, "/content")
		}
		switch {
		case err != nil:
			*r = blocked(j.Call.Name, fmt.Sprint("a reviewer of it failed: ", err))
			return
		case v.Block != "":
			*r = blocked(j.Call.Name, v.Block)
			r.Contexts = v.Contexts
			return
		}
		if len(v.Value) > 0 && (len(r.Value) > 0 || !r.IsError) {
			anew, err := safely(func() (Result, error) { return j.rendered(v.Value) })
			if err != nil {
				*r = invalidOutput(j.Call.Name, err)
				r.Contexts = v.Contexts
				return
			}
			r.Value, r.Meta, r.Contexts = anew.Value, anew.Meta, anew.Contexts
			r.IsError = r.IsError || anew.IsError
			if v.Content == nil {
				v.Content = anew.Content
			}
		}
		if v.Content != nil {
			if j.Parent != nil && len(v.Value) == 0 { // else the program would get what the reviewer has replaced
				r.Value = nil
			}
			r.Content = append(r.Content[:notice:notice], v.Content...)
		}
		r.Contexts = append(r.Contexts[:len(r.Contexts):len(r.Contexts)], v.Contexts...)
	}
}

// rendered is the result of the call if its body had returned value.
func (j *Job) rendered(value json.RawMessage) (Result, error) {
	value, err := tidyJSON(value, "/value")
	if err != nil {
		return Result{}, err
	}
	d := j.Definition
	if d == nil { // it is gone
		return Result{Content: []Block{{JSON: value}}, Value: value}, nil
	}
	if err := d.check(Result{Value: value}); err != nil {
		return Result{}, err
	}
	r, err := d.render(value)
	r.Value = value // a type may keep less of it
	return r, err
}

// finish lets the tool have the last word.
func (j *Job) finish(ctx context.Context) {
	d, r := j.Definition, &j.Result
	if d == nil || d.finalize == nil {
		return
	}
	content, err := safely(func() ([]Block, error) { return d.finalize(ctx, &j.Invocation, *r) })
	if err == nil && content != nil {
		content, err = tidyBlocks(content, "/content")
	}
	switch {
	case err != nil && r.Code == "":
		*r = blocked(j.Call.Name, fmt.Sprint("its Finalize failed: ", err))
	case err != nil: // of the tool's own nothing is left, which the text says that was there
		said := ""
		if len(r.Content) > 0 {
			said = r.Content[0].text() + " "
		}
		*r = coded(r.Code, "%sIts Finalize failed, and nothing more of it is shown: %s", said, bounded(fmt.Sprint(err), maxReason))
	case content != nil:
		r.Content = content
	}
}
