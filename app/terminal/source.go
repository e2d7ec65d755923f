package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/countersign/countersign/config/policy"
	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/permission"
	"github.com/countersign/countersign/review/session"
	"github.com/countersign/countersign/risk/diff"
)

// policySource says which rules hold here; policy files are not read yet.
const policySource = "compiled-in defaults, mode auto"

// terminalPolicy is what a terminal judges by: mode auto, so that what a person
// has to answer is said and not waved through.
func terminalPolicy() policy.Policy {
	p := policy.Default()
	p.Mode = permission.Auto
	return p
}

// looked is a change as it was read, with what a reader should know of the
// reading.
type looked struct {
	source  Source
	reading session.Reading
	notes   []string
}

// judge takes it through the gates.
func (l looked) judge(ctx context.Context) (Report, error) {
	p := terminalPolicy()
	j := session.Judge(ctx, l.reading, p)
	if err := ctx.Err(); err != nil { // what was not scanned by then would look like little
		return Report{}, fmt.Errorf("judge %s: %w", l.source.Name, err)
	}
	return newReport(l.source, l.reading, j, p, l.notes), nil
}

// lastByte remembers the end of what is read.
type lastByte struct{ b byte }

func (l *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		l.b = p[len(p)-1]
	}
	return len(p), nil
}

// unknowable is a reading about which nobody can be asked: CI and the author are
// unknown, and which checks are required too.
func unknowable(p diff.Patch) session.Reading {
	return session.Reading{Patch: p, Intent: review.IntentMissing, Checks: review.Checks{Complete: true, NoneSettled: true}}
}

// Diff reads a unified diff, as git diff or GitHub's .diff write it, and judges
// it. Name is shown to people. A diff of which nothing could be read is an error;
// what is lost in it otherwise is named in the report.
func Diff(ctx context.Context, name string, r io.Reader) (Report, error) {
	end := &lastByte{}
	patch, err := diff.Read(io.TeeReader(r, end), diff.PatchLimits{})
	var faults []review.Unread
	switch {
	case err != nil && len(patch.Files) == 0:
		return Report{}, fmt.Errorf("%s: %w; want a unified diff, such as git diff writes", name, err)
	case len(patch.Files) == 0:
		return Report{}, fmt.Errorf("%s: no change in it; want a unified diff, such as git diff writes", name)
	case err != nil:
		faults = unreadOf(err)
	}
	l := looked{source: Source{Kind: "diff", Name: name}, reading: unknowable(patch)}
	l.reading.Unread = faults
	if end.b != '\n' {
		l.reading.Unread = append(l.reading.Unread, review.Unread{What: "diff", Detail: "it ends within a line, as one that was cut does; git's end with a line end"})
	}
	return l.judge(ctx)
}

// unreadOf lists the places of a diff that could not be read. Files that are
// listed and cut short say so themselves.
func unreadOf(err error) []review.Unread {
	var list []review.Unread
	for _, one := range flatten(err) {
		var at *diff.Fault
		if errors.As(one, &at) && at.Path != "" {
			continue
		}
		list = append(list, review.Unread{What: "diff", Detail: one.Error()})
	}
	return list
}

// flatten takes joined errors apart.
func flatten(err error) []error {
	whole := err
	for ; err != nil; err = errors.Unwrap(err) {
		if joined, ok := err.(interface{ Unwrap() []error }); ok {
			return joined.Unwrap()
		}
	}
	return []error{whole}
}
