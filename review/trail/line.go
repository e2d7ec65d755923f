package trail

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// exported is a record as a line of an export: every column by its name. The body
// is the stored text byte for byte, since its hash covers exactly that.
type exported struct {
	Record
	// BodyText stands in for a body that is not JSON on one line, which only a
	// tampered one is.
	BodyText string `json:"body_text,omitempty"`
	// Shown is what outsiders are told of a decision; no hash covers it.
	Shown *shown `json:"shown,omitempty"`
}

// shown is a decision in the words of those who know three: approved, changes
// requested, blocked (DESIGN section 11).
type shown struct {
	Decision string `json:"decision"`
	// Waits says who must act.
	Waits string `json:"waits_for,omitempty"`
}

// AppendLine appends the record as one line of JSON, its line end included.
func AppendLine(dst []byte, r Record) ([]byte, error) {
	body := r.Body
	e := exported{Record: r, Shown: shownOf(r)}
	verbatim := json.Valid(body) && utf8.Valid(body) && !bytes.ContainsAny(body, "\r\n")
	e.Body = json.RawMessage(bodyMark)
	if !verbatim {
		e.BodyText = string(body)
	}
	line, err := json.Marshal(e)
	if err != nil {
		return dst, fmt.Errorf("export record %s: %w", r.ID, err)
	}
	if verbatim { // encoding/json would rewrite it
		before, after, ok := bytes.Cut(line, []byte(`"body":`+bodyMark+`,"prev_hash"`))
		if !ok {
			return dst, fmt.Errorf("export record %s: its body has no place", r.ID)
		}
		dst = append(append(dst, before...), `"body":`...)
		dst = append(append(dst, body...), `,"prev_hash"`...)
		return append(append(dst, after...), '\n'), nil
	}
	return append(append(dst, line...), '\n'), nil
}

// bodyMark holds the body's place until it is put there.
const bodyMark = "null"

// ParseLine reads a line that AppendLine wrote.
func ParseLine(line []byte) (Record, error) {
	var e exported
	if err := json.Unmarshal(line, &e); err != nil {
		return Record{}, fmt.Errorf("want a record as JSON: %w", err)
	}
	if e.Hash == "" || e.Chain == "" {
		return Record{}, errors.New("want a record with chain and hash")
	}
	if e.BodyText != "" {
		e.Body = json.RawMessage(e.BodyText)
	}
	return e.Record, nil
}

// shownOf translates needs_human: the word is ours, and a reader of an export must
// not take it for a pass.
func shownOf(r Record) *shown {
	if r.Type != TypeGateDecision && r.Type != TypeFinalReport {
		return nil
	}
	var body struct {
		Decision string   `json:"decision"`
		Fired    []string `json:"fired"`
		Gate     struct {
			Decision string   `json:"decision"`
			Fired    []string `json:"fired"`
		} `json:"gate"`
		Causes []struct {
			Rule   string `json:"rule"`
			Causes []struct {
				Text string `json:"text"`
			} `json:"causes"`
		} `json:"causes"`
	}
	if json.Unmarshal(r.Body, &body) != nil || (body.Decision != needsHuman && body.Gate.Decision != needsHuman) {
		return nil
	}
	s := &shown{Decision: "blocked", Waits: "a person, because of " + strings.Join(append(body.Fired, body.Gate.Fired...), ", ")}
	for _, rule := range body.Causes {
		if rule.Rule == "approval-missing" && len(rule.Causes) > 0 {
			s.Waits = "a person: " + rule.Causes[0].Text
		}
	}
	return s
}

const needsHuman = "needs_human"

// maxLine bounds a line of an export: a body of 64 KiB, each byte at worst six
// characters, and the columns.
const maxLine = 1 << 20

// FileReport is what a verification of an export found.
type FileReport struct {
	Report
	// Gaps counts the records that the file leaves out between or before those that
	// it holds.
	Gaps int64 `json:"gaps,omitempty"`
}

// VerifyLines verifies an export without a database: each record's hash, and that
// each follows the one before it in its chain. Chains may be mixed, and each must
// be in order. partial allows gaps, for an export that was filtered; they are
// counted. What a file cannot show is that a chain's end is missing.
func VerifyLines(ctx context.Context, in io.Reader, partial bool) (FileReport, error) {
	var report FileReport
	walkers := make(map[Chain]*walker)
	lines := bufio.NewReaderSize(in, 128<<10)
	for n := 1; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return report, ctx.Err()
		}
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return report, fmt.Errorf("read line %d: %w", n, err)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r, err := ParseLine(line)
		if err != nil {
			return report, fmt.Errorf("line %d: %w", n, err)
		}
		w := walkers[r.Chain]
		if w == nil {
			w = &walker{chain: r.Chain, report: &report.Report}
			walkers[r.Chain] = w
		}
		if gap := r.Seq - w.seq - 1; gap > 0 && partial {
			report.Gaps += gap
			w.seq, w.hash = r.Seq-1, r.PrevHash
		}
		if err := w.row(r); err != nil {
			return report, err
		}
	}
	report.Chains = len(walkers)
	return report, nil
}

// readLine reads a line without its end; the last one needs none.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fmt.Errorf("it is longer than %d bytes: not a line of an export", maxLine)
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, nil
		case err != nil:
			return nil, err
		default:
			return line[:len(line)-1], nil
		}
	}
}
