package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/countersign/countersign/app"
	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/config"
	"github.com/countersign/countersign/review/trail"
)

func (o *trailFlags) verify(ctx context.Context, db *store.Store, out, _ io.Writer) error {
	report, err := trail.Verify(ctx, db)
	if err != nil {
		return err
	}
	return o.tell(out, report, report, fmt.Sprintf("%d records in %d chains are consistent with each other; not compared with GitHub", report.Records, report.Chains))
}

func (o *trailFlags) verifyFile(ctx context.Context, out io.Writer) error {
	var in io.Reader = os.Stdin
	if o.file != "-" {
		f, err := os.Open(o.file)
		if err != nil {
			return fmt.Errorf("read the export: %w", err)
		}
		defer f.Close()
		in = f
	}
	report, err := trail.VerifyLines(ctx, in, o.partial)
	if err != nil {
		return fmt.Errorf("verify %s: %w", o.file, err)
	}
	said := fmt.Sprintf("%d records in %d chains are consistent with each other; whether a chain goes on behind its last record here, the file cannot tell", report.Records, report.Chains)
	if report.Gaps > 0 {
		said = fmt.Sprintf("%d records in %d chains are consistent with each other; %d in between are not in the file", report.Records, report.Chains, report.Gaps)
	}
	return o.tell(out, report, report.Report, said)
}

// tell prints a report of hashes.
func (o *trailFlags) tell(out io.Writer, whole any, report trail.Report, good string) (err error) {
	switch {
	case o.asJSON:
		err = json.NewEncoder(out).Encode(whole)
	case report.OK():
		_, err = fmt.Fprintln(out, good)
	default:
		for _, p := range report.Problems {
			fmt.Fprintln(out, p)
		}
		_, err = fmt.Fprintf(out, "%d problems in %d records of %d chains\n", len(report.Problems)+report.Unlisted, report.Records, report.Chains)
	}
	if err == nil && !report.OK() {
		return errFound
	}
	return err
}

// progressEvery is how often a comparison says how far it is.
const progressEvery = 100

func (o *trailFlags) verifyGitHub(ctx context.Context, db *store.Store, out, errOut io.Writer) error {
	settings, err := config.Load(config.Sources{Env: os.LookupEnv, File: o.config, Without: []string{"GITHUB_APP_WEBHOOK_SECRET"}})
	if err != nil {
		return err
	}
	hashes, err := trail.Verify(ctx, db)
	if err != nil {
		return err
	}
	witness, err := app.NewWitness(settings, db, version, nil)
	if err != nil {
		return err
	}
	report, err := trail.VerifyPublished(ctx, db, witness, trail.WitnessOptions{
		Repo: o.repo, Since: o.since, Names: app.WitnessedNames(), Calls: o.calls,
		Progress: func(r trail.WitnessReport) {
			if r.Calls%progressEvery == 0 {
				fmt.Fprintf(errOut, "%d checks compared, %d problems\n", r.Checks, len(r.Problems))
			}
		},
	})
	if perr := o.tellWitness(out, hashes, report); perr != nil {
		return perr
	}
	switch {
	case err != nil && !report.Next.IsZero():
		return fmt.Errorf("%w; --since %s goes on", err, report.Next.Format(time.RFC3339Nano))
	case err != nil:
		return err
	case !hashes.OK() || !report.OK():
		return errFound
	case !report.Next.IsZero():
		return fmt.Errorf("stopped after %d questions to GitHub (--calls); --since %s goes on", report.Calls, report.Next.Format(time.RFC3339Nano))
	}
	return nil
}

func (o *trailFlags) tellWitness(out io.Writer, hashes trail.Report, report trail.WitnessReport) error {
	if o.asJSON {
		return json.NewEncoder(out).Encode(struct {
			Trail  trail.Report        `json:"trail"`
			GitHub trail.WitnessReport `json:"github"`
		}{hashes, report})
	}
	for _, p := range hashes.Problems {
		fmt.Fprintln(out, p)
	}
	for _, p := range report.Problems {
		fmt.Fprintln(out, p)
	}
	for _, p := range report.Unread {
		fmt.Fprintln(out, p.String()+": not compared")
	}
	_, err := fmt.Fprintf(out, "%d records in %d chains, %d problems; %d published checks compared with GitHub: %d problems, %d could not be compared\n",
		hashes.Records, hashes.Chains, len(hashes.Problems)+hashes.Unlisted, report.Checks, len(report.Problems), len(report.Unread))
	return err
}
