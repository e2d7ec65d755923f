package trail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Published is a check that was posted: on this head, under this name, as this
// run of the forge's.
type Published struct {
	RepoID  int64  `json:"repo_id"`
	Repo    string `json:"repo"` // "owner/name"
	HeadSHA string `json:"head_sha"`
	Name    string `json:"name"`
	Run     int64  `json:"check_run_id"`
	// Chain is where its record stands; empty for one that is known from elsewhere.
	Chain Chain     `json:"chain,omitempty"`
	At    time.Time `json:"at"`
}

// ShownRun is what the forge shows of a run of ours.
type ShownRun struct {
	ID int64
	// ExternalID begins with the pull request's number and a colon.
	ExternalID string
	// Hash is what follows "trail" at the end of its text: the first digits of the
	// hash of the chain's head when it was written. Empty: it shows none.
	Hash string
	// GivenUp: the run was ended because another took its place.
	GivenUp bool
}

// Witness is the forge, which keeps what was published out of our reach.
type Witness interface {
	// Shown lists our runs of a name on a head. ErrUnreachable means that this one
	// cannot be asked about, for good; another error, that nothing can be asked now.
	Shown(ctx context.Context, p Published) ([]ShownRun, error)
}

// ErrUnreachable says that the forge does not show a repository, or not to us.
var ErrUnreachable = errors.New("the forge does not show it to us")

// PublishedStore is where it is known what was published.
type PublishedStore interface {
	FindTrail(ctx context.Context, q Query) ([]Record, error)
	// HashInTrail reports whether a record's hash begins with prefix, in a chain or,
	// where that is empty, in any of the repository's.
	HashInTrail(ctx context.Context, repoID int64, chain Chain, prefix string) (bool, error)
	// Unrecorded lists checks that are known to have been published, from another
	// table than the trail, and of which no record tells; in any order that goes on
	// behind the one given.
	Unrecorded(ctx context.Context, after Published, limit int) ([]Published, error)
}

// WitnessOptions bound a comparison.
type WitnessOptions struct {
	Repo  string // "owner/name"; empty: all
	Since time.Time
	// Names are those whose text ends with the trail's hash; others are not asked
	// about.
	Names []string
	// Calls bounds the questions to the forge.
	Calls int
	// Progress, when set, is told now and then how far it is.
	Progress func(WitnessReport)
}

// WitnessReport is what a comparison with the forge found.
type WitnessReport struct {
	// Checks were compared, with Calls questions.
	Checks int `json:"checks"`
	Calls  int `json:"calls"`
	// Problems are checks that the trail contradicts; Unread could not be asked about.
	Problems []WitnessProblem `json:"problems,omitempty"`
	Unread   []WitnessProblem `json:"unread,omitempty"`
	// Unlisted counts those of both beyond MaxProblems.
	Unlisted int `json:"unlisted,omitempty"`
	// Next is where to go on when the questions were used up.
	Next time.Time `json:"next,omitzero"`
}

// WitnessProblem is a check that does not agree with the trail.
type WitnessProblem struct {
	Published
	What string `json:"what"`
}

func (p WitnessProblem) String() string {
	return fmt.Sprintf("%s@%s %q: %s", p.Repo, p.HeadSHA[:min(7, len(p.HeadSHA))], p.Name, p.What)
}

// OK reports whether everything that was published agrees with the trail.
func (r WitnessReport) OK() bool { return len(r.Problems)+len(r.Unread)+r.Unlisted == 0 }

// VerifyPublished holds what the forge shows against the trail: each run that was
// published is still there, and each shows the hash of a record that the trail
// has. So rows that were cut together with their chain's head come to light, as
// long as something was published after them. An error ends it early; what was
// found up to there is in the report.
func VerifyPublished(ctx context.Context, store PublishedStore, w Witness, o WitnessOptions) (WitnessReport, error) {
	c := &comparison{store: store, witness: w, o: o, seen: make(map[Published][]ShownRun)}
	err := c.fromTable(ctx) // few, and not found again by time
	if err == nil && c.report.Next.IsZero() {
		err = c.fromTrail(ctx)
	}
	return c.report, err
}

// maxSeenHeads bounds the answers that are kept: the records of one head follow
// each other closely, so older ones are seldom wanted again.
const maxSeenHeads = 2000

type comparison struct {
	store   PublishedStore
	witness Witness
	o       WitnessOptions
	report  WitnessReport
	seen    map[Published][]ShownRun // by keyOf
	order   []Published
}

// keyOf is what one question is about.
func keyOf(p Published) Published {
	return Published{RepoID: p.RepoID, HeadSHA: p.HeadSHA, Name: p.Name}
}

const publishedPage = 200

// fromTrail goes through the records of what was published.
func (c *comparison) fromTrail(ctx context.Context) error {
	q := Query{Type: TypePublish, Repo: c.o.Repo, Since: c.o.Since, Limit: publishedPage}
	for {
		records, err := c.store.FindTrail(ctx, q)
		if err != nil {
			return err
		}
		for _, r := range records {
			q.After = r.ID
			if more, err := c.compare(ctx, publishedBy(r)); err != nil || !more {
				return err
			}
		}
		if len(records) < publishedPage {
			return nil
		}
	}
}

func publishedBy(r Record) Published {
	var body struct {
		Name    string `json:"name"`
		HeadSHA string `json:"head_sha"`
		Run     int64  `json:"check_run_id"`
	}
	if json.Unmarshal(r.Body, &body) != nil {
		return Published{}
	}
	return Published{RepoID: r.RepoID, Repo: r.Repo, HeadSHA: body.HeadSHA, Name: body.Name, Run: body.Run, Chain: r.Chain, At: r.TS}
}

// fromTable goes through what was published by another table's word: whoever cut a
// whole chain off would have to think of that one, too. A process that died right
// after publishing leaves such a check as well, until the next turn; it shows a hash
// that the trail has.
func (c *comparison) fromTable(ctx context.Context) error {
	var after Published
	for {
		page, err := c.store.Unrecorded(ctx, after, publishedPage)
		if err != nil {
			return err
		}
		for _, p := range page {
			after = p
			if c.o.Repo != "" && !strings.EqualFold(p.Repo, c.o.Repo) {
				continue
			}
			if more, err := c.compare(ctx, p); err != nil || !more {
				return err
			}
		}
		if len(page) < publishedPage {
			return nil
		}
	}
}

// compare looks at one check. more is false when the questions are used up.
func (c *comparison) compare(ctx context.Context, p Published) (more bool, err error) {
	if p.Run == 0 || !slices.Contains(c.o.Names, p.Name) {
		return true, nil
	}
	shown, asked := c.seen[keyOf(p)]
	if !asked {
		if c.o.Calls > 0 && c.report.Calls >= c.o.Calls {
			c.report.Next = p.At
			return false, nil
		}
		c.report.Calls++
		shown, err = c.witness.Shown(ctx, p)
		switch {
		case errors.Is(err, ErrUnreachable):
			c.add(&c.report.Unread, p, err.Error())
		case err != nil:
			c.report.Next = p.At
			return false, fmt.Errorf("ask what %s shows on %s: %w", p.Name, p.HeadSHA, err)
		default:
			err = c.hold(ctx, p, shown)
		}
		if err != nil && !errors.Is(err, ErrUnreachable) {
			return false, err
		}
		c.keep(keyOf(p), shown, err)
		if c.o.Progress != nil {
			c.o.Progress(c.report)
		}
		shown = c.seen[keyOf(p)]
	}
	// nil: it could not be asked about, which was said.
	if shown != nil && !slices.ContainsFunc(shown, func(r ShownRun) bool { return r.ID == p.Run }) {
		c.add(&c.report.Problems, p, fmt.Sprintf("check run %d was published on %s, and is gone", p.Run, p.At.Format(time.DateOnly)))
		c.seen[keyOf(p)] = append(shown, ShownRun{ID: p.Run, GivenUp: true}) // said once
	}
	return true, nil
}

// hold compares what all runs show with the trail.
func (c *comparison) hold(ctx context.Context, p Published, shown []ShownRun) error {
	c.report.Checks++
	for _, run := range shown {
		if run.Hash == "" {
			if !run.GivenUp {
				c.add(&c.report.Problems, p, fmt.Sprintf("check run %d shows no trail: its text was replaced", run.ID))
			}
			continue
		}
		ok, err := c.known(ctx, p, run)
		if err != nil {
			return err
		}
		if !ok {
			c.add(&c.report.Problems, p, fmt.Sprintf("check run %d shows trail %s, which the trail does not hold: its end was cut, or it was rewritten", run.ID, run.Hash))
		}
	}
	return nil
}

// known looks where the hash should be, then in all of the repository: a check
// that several pull requests share shows the trail of one of them.
func (c *comparison) known(ctx context.Context, p Published, run ShownRun) (bool, error) {
	chains := []Chain{p.Chain, ""}
	if number, _, ok := strings.Cut(run.ExternalID, ":"); ok {
		if n, err := strconv.Atoi(number); err == nil {
			chains = []Chain{PullChain(p.RepoID, n), p.Chain, ""}
		}
	}
	for i, chain := range chains {
		if chain == "" && i < len(chains)-1 {
			continue
		}
		ok, err := c.store.HashInTrail(ctx, p.RepoID, chain, run.Hash)
		if ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

func (c *comparison) add(list *[]WitnessProblem, p Published, what string) {
	if len(*list) >= MaxProblems {
		c.report.Unlisted++
		return
	}
	*list = append(*list, WitnessProblem{p, what})
}

// keep remembers an answer; of one that could not be had, that it could not.
func (c *comparison) keep(key Published, shown []ShownRun, err error) {
	if err == nil && shown == nil {
		shown = []ShownRun{}
	}
	if len(c.order) >= maxSeenHeads {
		delete(c.seen, c.order[0])
		c.order = c.order[1:]
	}
	c.seen[key], c.order = shown, append(c.order, key)
}
