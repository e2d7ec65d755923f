package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/review/trail"
)

func (o *trailFlags) showSession(ctx context.Context, db *store.Store, id string, out io.Writer) error {
	s, err := trail.Rebuild(ctx, db, id)
	if err != nil {
		return err
	}
	if !o.asJSON {
		fmt.Fprintf(out, "session %s · %s #%d · %s\n\n", s.ID, s.Repo, s.Pull, s.HeadSHA)
	}
	if err := printRecords(out, s.Records, o.asJSON); err != nil {
		return err
	}
	if s.Truncated {
		return fmt.Errorf("it has more than %d records; countersign trail query --session %s --after %s goes on", trail.MaxSession, id, s.Records[len(s.Records)-1].ID)
	}
	return nil
}

func (o *trailFlags) showPull(ctx context.Context, db *store.Store, repo string, number int, out, errOut io.Writer) error {
	q := trail.Query{Repo: repo, Pull: number}
	n, err := o.print(ctx, db, q, out, errOut, fmt.Sprintf("show %s %d", repo, number))
	if err == nil && n == 0 {
		if o.after != "" {
			return fmt.Errorf("no records of %s #%d behind %s", repo, number, o.after)
		}
		return fmt.Errorf("no records of %s #%d", repo, number)
	}
	return err
}

func (o *trailFlags) query(ctx context.Context, db *store.Store, out, errOut io.Writer) error {
	n, err := o.print(ctx, db, o.selection(), out, errOut, "query, with the same flags,")
	if err == nil && n == 0 {
		fmt.Fprintln(errOut, "no record matches")
	}
	return err
}

// showPage is how many records are held at once: 64 KiB each at worst.
const showPage = 128

// print prints up to the limit, page by page, and says so when there is more.
func (o *trailFlags) print(ctx context.Context, db *store.Store, q trail.Query, out, errOut io.Writer, again string) (n int, err error) {
	q.After, q.Limit = o.after, showPage
	for {
		page, err := db.FindTrail(ctx, q)
		if err != nil {
			return n, err
		}
		for _, r := range page {
			if n == o.limit && o.match.Matches(r) {
				fmt.Fprintf(errOut, "… there are more; countersign trail %s --after %s goes on\n", again, q.After)
				return n, nil
			}
			if o.match.Matches(r) {
				if err := printRecord(out, r, o.asJSON); err != nil {
					return n, err
				}
				n++
				q.After = r.ID
			}
		}
		if len(page) < showPage {
			return n, nil
		}
		q.After = page[len(page)-1].ID
	}
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
		line, err := trail.AppendLine(nil, r)
		if err != nil {
			return err
		}
		_, err = out.Write(line)
		return err
	}
	// A body may hold text by strangers. JSON escapes control characters; %+q
	// style escapes also disarm bidirectional and invisible ones in a terminal.
	body := strconv.QuoteToASCII(string(r.Body))
	body = strings.ReplaceAll(body[1:len(body)-1], `\"`, `"`)
	if len(body) > bodyWidth {
		body = fmt.Sprintf("%s… (%d more)", body[:bodyWidth], len(body)-bodyWidth)
	}
	_, err := fmt.Fprintf(out, "%5d %s %-3s %-20s %s %s\n      %s\n", r.Seq, r.TS.Format(time.RFC3339), r.Phase, r.Type, r.Hash[:min(12, len(r.Hash))], r.ID, body)
	return err
}

// export writes every record that the flags select, chain by chain, and holds only
// a page of them.
func (o *trailFlags) export(ctx context.Context, db *store.Store, out, _ io.Writer) error {
	var line []byte
	return db.WalkTrail(ctx, o.selection(), func(r trail.Record) (err error) {
		if line, err = trail.AppendLine(line[:0], r); err != nil {
			return err
		}
		_, err = out.Write(line)
		return err
	})
}
