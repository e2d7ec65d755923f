package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/review/trail"
)

const trailHelp = `Show, search, export or verify what was recorded. It reads the database beside a
running server and writes nothing.

  countersign trail show SESSION            one session, rebuilt from its records
  countersign trail show OWNER/NAME NUMBER  every record of a pull request
  countersign trail query                   records that mention a --rule, --decision, --file, …
  countersign trail export                  every record as a line of JSON, with its hash
  countersign trail verify                  find changed, dropped or reordered records
  countersign trail verify --file EXPORT    the same of an export, without a database
  countersign trail verify --github         compare with what the checks on GitHub show

verify --github finds records that were cut off the end. It reads with the App's
credentials (the settings of countersign serve), one call for each published head.

Exit code 1 when verify finds something.`

// trailFlags are what the verbs take.
type trailFlags struct {
	database     string
	asJSON       bool
	repo         string
	pull         int
	session, typ string
	since, until time.Time
	match        trail.Match
	after        string
	limit        int
	file, config string
	partial      bool
	github       bool
	calls        int
}

// verbs says which flags each takes, besides --database.
func verbs() map[string][]string {
	return map[string][]string{
		"show":   {"json", "after", "limit"},
		"query":  {"json", "after", "limit", "repo", "pull", "session", "type", "since", "until", "rule", "decision", "changed-file", "reviewer", "tool"},
		"export": {"repo", "pull", "session", "type", "since", "until"},
		"verify": {"json", "file", "partial", "github", "repo", "since", "calls", "config"},
	}
}

// The bounds of what is shown at once, and of the questions to GitHub: an hour's
// worth for an installation is 5,000.
const (
	defaultShown = 1000
	defaultCalls = 2000
)

func newTrailFlags(errOut io.Writer) (*flag.FlagSet, *trailFlags) {
	o := &trailFlags{}
	f := flags("trail", trailHelp, errOut)
	f.StringVar(&o.database, "database", databasePath(), "the database file ($COUNTERSIGN_DATABASE); without it, $DATABASE_URL comes first")
	f.BoolVar(&o.asJSON, "json", false, "show, query, verify: JSON, for programs")
	f.StringVar(&o.repo, "repo", "", "query, export, verify --github: of this repository, OWNER/NAME")
	f.IntVar(&o.pull, "pull", 0, "query, export: of this pull request of --repo")
	f.StringVar(&o.session, "session", "", "query, export: of this session")
	f.StringVar(&o.typ, "type", "", "query, export: of this type, such as gate_decision")
	f.Func("since", "query, export, verify --github: at or after this time, 2026-11-30 or 2026-11-30T18:00:00Z", timeInto(&o.since))
	f.Func("until", "query, export: before this time", timeInto(&o.until))
	f.StringVar(&o.match.Rule, "rule", "", "query: a rule that fired, was accepted or evaluated")
	f.StringVar(&o.match.Decision, "decision", "", "query: a decision, such as needs_human")
	f.StringVar(&o.match.File, "changed-file", "", "query: a file's path")
	f.StringVar(&o.match.Reviewer, "reviewer", "", "query: a reviewer's provider or model")
	f.StringVar(&o.match.Tool, "tool", "", "query: a tool that a reviewer used")
	f.StringVar(&o.after, "after", "", "show, query: only records behind the one with this id")
	f.IntVar(&o.limit, "limit", defaultShown, "show, query: at most so many")
	f.StringVar(&o.file, "file", "", "verify: an export, or - for standard input")
	f.BoolVar(&o.partial, "partial", false, "verify --file: the export was filtered, so records may be missing in between")
	f.BoolVar(&o.github, "github", false, "verify: compare with what the checks on GitHub show")
	f.IntVar(&o.calls, "calls", defaultCalls, "verify --github: at most so many questions")
	f.StringVar(&o.config, "config", "", "verify --github: a YAML file with settings (default: $COUNTERSIGN_CONFIG)")
	return f, o
}

func timeInto(t *time.Time) func(string) error {
	return func(v string) (err error) {
		for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
			if *t, err = time.Parse(layout, v); err == nil {
				*t = t.UTC()
				return nil
			}
		}
		return errors.New("want 2026-11-30 or 2026-11-30T18:00:00Z")
	}
}

// trailVerb does one thing with the trail.
type trailVerb func(ctx context.Context, db *store.Store, out, errOut io.Writer) error

func trailCommand(ctx context.Context, args []string, out, errOut io.Writer) (err error) {
	f, o := newTrailFlags(errOut)
	words, err := parseAnywhere(f, args)
	if err != nil {
		return err
	}
	do, err := o.verb(words, f)
	if err != nil {
		return err
	}
	if o.file != "" {
		return o.verifyFile(ctx, out)
	}
	db, err := openTrail(ctx, f, o.database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return do(ctx, db, out, errOut)
}

// openTrail opens the database that the server uses: DATABASE_URL, which holds a
// password and so is no flag, unless a file is named.
func openTrail(ctx context.Context, f *flag.FlagSet, path string) (*store.Store, error) {
	named := false
	f.Visit(func(given *flag.Flag) { named = named || given.Name == "database" })
	if url := os.Getenv("DATABASE_URL"); url != "" && !named {
		return store.OpenReadOnly(ctx, store.Options{URL: url})
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no database at %s; name it with --database, COUNTERSIGN_DATABASE or DATABASE_URL", path)
	}
	return store.OpenReadOnly(ctx, store.Options{Path: path})
}

// verb reads what is to be done, before anything is opened.
func (o *trailFlags) verb(words []string, f *flag.FlagSet) (trailVerb, error) {
	if len(words) == 0 || verbs()[words[0]] == nil {
		return nil, fmt.Errorf("want show, query, export or verify, got %q; countersign trail -h tells more", words)
	}
	verb, rest := words[0], words[1:]
	if err := onlyFor(verb, f); err != nil {
		return nil, err
	}
	if err := o.validate(verb); err != nil {
		return nil, err
	}
	switch verb {
	case "show":
		return o.show(rest)
	case "query":
		return o.query, noMore("trail query", rest)
	case "export":
		return o.export, noMore("trail export", rest)
	}
	if o.github {
		return o.verifyGitHub, noMore("trail verify", rest)
	}
	return o.verify, noMore("trail verify", rest)
}

// onlyFor refuses flags that the verb would not look at.
func onlyFor(verb string, f *flag.FlagSet) (err error) {
	f.Visit(func(given *flag.Flag) {
		if given.Name != "database" && !slices.Contains(verbs()[verb], given.Name) {
			err = fmt.Errorf("trail %s does not take --%s; countersign trail -h tells which do", verb, given.Name)
		}
	})
	return err
}

func (o *trailFlags) validate(verb string) error {
	switch {
	case o.limit < 1:
		return fmt.Errorf("--limit: want at least 1, got %d", o.limit)
	case o.calls < 1:
		return fmt.Errorf("--calls: want at least 1, got %d", o.calls)
	case o.pull < 0, o.pull > 0 && o.repo == "":
		return errors.New("--pull: want a pull request's number, from 1, together with --repo OWNER/NAME")
	case o.repo != "" && strings.Count(o.repo, "/") != 1:
		return fmt.Errorf("--repo: want OWNER/NAME, got %q", o.repo)
	case o.typ != "" && !trail.Type(o.typ).Known():
		return fmt.Errorf("--type: unknown type %q", o.typ)
	case o.file != "" && o.github:
		return errors.New("--file or --github, not both: an export is verified without asking anybody")
	case o.partial && o.file == "":
		return errors.New("--partial is for --file")
	case verb == "verify" && !o.github && (o.repo != "" || !o.since.IsZero()):
		return errors.New("--repo and --since are for --github: the hashes are always verified from the first record on")
	}
	o.session = strings.ToUpper(o.session)
	return nil
}

// show takes a session's id, or a repository and a number.
func (o *trailFlags) show(words []string) (trailVerb, error) {
	switch {
	case len(words) == 1 && !strings.Contains(words[0], "/"):
		id := strings.ToUpper(words[0])
		return func(ctx context.Context, db *store.Store, out, _ io.Writer) error {
			return o.showSession(ctx, db, id, out)
		}, nil
	case len(words) == 2 && strings.Count(words[0], "/") == 1:
		number, err := strconv.Atoi(strings.TrimPrefix(words[1], "#"))
		if err != nil || number < 1 {
			return nil, fmt.Errorf("want a pull request's number, from 1, got %q", words[1])
		}
		return func(ctx context.Context, db *store.Store, out, errOut io.Writer) error {
			return o.showPull(ctx, db, words[0], number, out, errOut)
		}, nil
	}
	return nil, errors.New("want a session's id, or OWNER/NAME and a number")
}

func databasePath() string {
	if p := os.Getenv("COUNTERSIGN_DATABASE"); p != "" {
		return p
	}
	return "countersign.db"
}

// selection is what the flags select.
func (o *trailFlags) selection() trail.Query {
	return trail.Query{SessionID: o.session, Repo: o.repo, Pull: o.pull, Type: trail.Type(o.typ), Since: o.since, Until: o.until}
}
