package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/countersign/countersign/app/terminal"
)

const surveyHelp = `Say what the rules would have said of a repository's own history: each commit of the
first-parent line, or each merge where most are merges, against its first parent.
It reads the clone, runs nothing of it, and sends nothing anywhere.

  countersign survey REPO             a folder of the clone`

func surveyCommand(ctx context.Context, args []string, out, errOut io.Writer) error {
	f := flags("survey", surveyHelp, errOut)
	var o terminal.SurveyOptions
	f.IntVar(&o.Commits, "commits", terminal.DefaultCommits, "how many commits, newest first")
	f.StringVar(&o.From, "from", "", "the newest commit (default: HEAD)")
	f.BoolVar(&o.Merges, "merges", false, "merge commits only")
	asJSON := f.Bool("json", false, "one JSON object, for programs")
	words, err := parseAnywhere(f, args)
	switch {
	case err != nil:
		return err
	case len(words) > 1:
		return fmt.Errorf("want one repository, got %q", words)
	case o.Commits < 1:
		return fmt.Errorf("--commits: want at least 1, got %d", o.Commits)
	case len(words) == 1:
		o.Dir = words[0]
	}
	stop := progress(errOut, "judging commits")
	survey, err := terminal.History(ctx, o)
	stop()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if *asJSON {
		e := json.NewEncoder(&b)
		e.SetIndent("", "  ")
		err = e.Encode(survey)
	} else {
		err = survey.WriteText(&b, isTerminal(out))
	}
	if err != nil {
		return err
	}
	_, err = out.Write(b.Bytes())
	return err
}
