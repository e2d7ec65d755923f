package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	verb := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		verb, args = args[0], args[1:]
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	var do func(context.Context, *store.Store, []string, bool, io.Writer) error
	switch verb {
	case "show":
		do = trailShow
	case "verify":
		do = trailVerify
	default:
		f.Usage()
		return fmt.Errorf("want show or verify, got %q", verb)
	}
	db, err := store.OpenReadOnly(ctx, *path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(ctx, db, f.Args(), *asJSON, out)
}

func databasePath() string {
	if p := os.Getenv("COUNTERSIGN_DATABASE"); p != "" {
		return p
	}
	return "countersign.db"
}

func trailShow(ctx context.Context, db *store.Store, args []string, asJSON bool, out io.Writer) error {
	var records []trail.Record
	switch len(args) {
	case 1:
		s, err := trail.Rebuild(ctx, db, args[0])
		if err != nil {
			return err
		}
		records = s.Records
		if !asJSON {
			fmt.Fprintf(out, "session %s · %s #%d · %s\n\n", s.ID, s.Repo, s.Pull, s.HeadSHA)
		}
	case 2:
		number, err := strconv.Atoi(args[1])
		if err != nil {
			return fmt.Errorf("want a pull request's number, got %q", args[1])
		}
		records, err = db.FindTrail(ctx, trail.Query{Repo: args[0], Pull: number})
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return fmt.Errorf("no records of %s #%d", args[0], number)
		}
	default:
		return errors.New("want a session's id, or OWNER/NAME and a number")
	}
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

func trailVerify(ctx context.Context, db *store.Store, _ []string, asJSON bool, out io.Writer) error {
	report, err := trail.Verify(ctx, db)
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		err = json.NewEncoder(out).Encode(report)
	case report.OK():
		_, err = fmt.Fprintf(out, "%d records in %d chains: nothing changed, dropped or reordered\n", report.Records, report.Chains)
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
