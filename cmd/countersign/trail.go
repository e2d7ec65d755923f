package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/review/trail"
)

const trailHelp = `Show or verify what was recorded. It reads the database beside a running server.

  countersign trail show SESSION           one session, rebuilt from its records
  countersign trail show OWNER/NAME NUMBER every record of a pull request
  countersign trail verify                 find changed, dropped or reordered rows

Exit code 1 when verify finds something.`

func trailCommand(ctx context.Context, args []string, out, errOut io.Writer) (err error) {
	f := flags("trail", trailHelp, errOut)
	path := f.String("database", databasePath(), "the database file ($COUNTERSIGN_DATABASE)")
	asJSON := f.Bool("json", false, "one JSON object a line")
	words, err := parseAnywhere(f, args)
	if err != nil {
		return err
	}
	do, err := trailVerb(words)
	if err != nil {
		return err
	}
	if _, err := os.Stat(*path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no database at %s; name it with --database or COUNTERSIGN_DATABASE", *path)
	}
	db, err := store.OpenReadOnly(ctx, store.Options{Path: *path})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(ctx, db, *asJSON, out)
}

// trailVerb reads what is to be done, before anything is opened.
func trailVerb(words []string) (func(context.Context, *store.Store, bool, io.Writer) error, error) {
	switch {
	case len(words) == 1 && words[0] == "verify":
		return trailVerify, nil
	case len(words) > 0 && words[0] == "verify":
		return nil, noMore("trail verify", words[1:])
	case len(words) == 2 && words[0] == "show" && !strings.Contains(words[1], "/"):
		return func(ctx context.Context, db *store.Store, asJSON bool, out io.Writer) error {
			return showSession(ctx, db, strings.ToUpper(words[1]), asJSON, out)
		}, nil
	case len(words) == 3 && words[0] == "show":
		number, err := strconv.Atoi(words[2])
		if err != nil {
			return nil, fmt.Errorf("want a pull request's number, got %q", words[2])
		}
		return func(ctx context.Context, db *store.Store, asJSON bool, out io.Writer) error {
			return showPull(ctx, db, words[1], number, asJSON, out)
		}, nil
	case len(words) > 0 && words[0] == "show":
		return nil, errors.New("want a session's id, or OWNER/NAME and a number")
	}
	return nil, fmt.Errorf("want show or verify, got %q; countersign trail -h tells more", words)
}

func databasePath() string {
	if p := os.Getenv("COUNTERSIGN_DATABASE"); p != "" {
		return p
	}
	return "countersign.db"
}

func showSession(ctx context.Context, db *store.Store, id string, asJSON bool, out io.Writer) error {
	s, err := trail.Rebuild(ctx, db, id)
	if err != nil {
		return err
	}
	if !asJSON {
		fmt.Fprintf(out, "session %s · %s #%d · %s\n\n", s.ID, s.Repo, s.Pull, s.HeadSHA)
	}
	return printRecords(out, s.Records, asJSON)
}

func showPull(ctx context.Context, db *store.Store, repo string, number int, asJSON bool, out io.Writer) error {
	records, err := db.FindTrail(ctx, trail.Query{Repo: repo, Pull: number})
	if err != nil {
		return err
	}
	if len(records) == 0 {
		return fmt.Errorf("no records of %s #%d", repo, number)
	}
	return printRecords(out, records, asJSON)
}

func printRecords(out io.Writer, records []trail.Record, asJSON bool) error {
	for _, r := range records {
		if err := printRecord(out, r, asJSON); err != nil {
			return err
		}
	}
	return nil
}

// bodyWidth keeps a record on a few lines of a terminal; --json shows it whole.
const bodyWidth = 400

func printRecord(out io.Writer, r trail.Record, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	// A body may hold text by strangers. JSON escapes control characters; %+q
	// style escapes also disarm bidirectional and invisible ones in a terminal.
	body := strconv.QuoteToASCII(string(r.Body))
	body = strings.ReplaceAll(body[1:len(body)-1], `\"`, `"`)
	if len(body) > bodyWidth {
		body = fmt.Sprintf("%s… (%d more)", body[:bodyWidth], len(body)-bodyWidth)
	}
	_, err := fmt.Fprintf(out, "%5d %s %-3s %-20s %s\n      %s\n", r.Seq, r.TS.Format(time.RFC3339), r.Phase, r.Type, r.Hash[:min(12, len(r.Hash))], body)
	return err
}

func trailVerify(ctx context.Context, db *store.Store, asJSON bool, out io.Writer) error {
	report, err := trail.Verify(ctx, db)
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		err = json.NewEncoder(out).Encode(report)
	case report.OK():
		_, err = fmt.Fprintf(out, "%d records in %d chains are consistent with each other; not compared with GitHub\n", report.Records, report.Chains)
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
