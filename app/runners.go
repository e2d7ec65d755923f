package app

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app/queue"
	"github.com/countersign/countersign/handlers"
	"github.com/countersign/countersign/review/collect"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/session"
)

// runners says what each kind of job does. The queue knows subjects and the
// session knows pull requests; this is where one becomes the other.
func runners(e *session.Engine, repos repoFinder, reconcile *reconciler, p probe) map[handlers.SubjectKind]queue.Runner {
	out := map[handlers.SubjectKind]queue.Runner{
		handlers.SubjectPull:         pullRunner(e, repos),
		handlers.SubjectHead:         headRunner(e, repos),
		handlers.SubjectRepo:         noteRunner(e),
		handlers.SubjectInstallation: reconcile.soon(noteRunner(e)),
	}
	for kind, run := range out {
		out[kind] = watchedRunner(kind, run, p)
	}
	return out
}

// repoFinder names the repository of a subject that was woken without an event.
type repoFinder interface {
	RememberRepo(ctx context.Context, r forge.Repo) error
	RepoByID(ctx context.Context, id int64) (forge.Repo, bool, error)
}

func pullRunner(e *session.Engine, repos repoFinder) queue.Runner {
	return func(ctx context.Context, t queue.Turn) (queue.Outcome, error) {
		repoID, rest, err := subjectParts(t.Subject)
		if err != nil {
			return queue.Outcome{}, err
		}
		number, err := strconv.Atoi(rest)
		if err != nil {
			return queue.Outcome{}, fmt.Errorf("subject %s: %w", t.Subject, err)
		}
		repo, ok, err := repoOf(ctx, t, repoID, repos)
		if err != nil || !ok {
			return queue.Outcome{}, err // never seen: nothing to say anything about
		}
		out, err := e.Pull(ctx, session.Turn{
			Pull:   forge.PullRef{Repo: repo, Number: number},
			Events: eventsOf(t.Events),
			Newer: func(ctx context.Context) ([]session.Event, error) {
				newer, err := t.Newer(ctx)
				return eventsOf(newer), err
			},
			Attempt: t.Attempt, LastAttempt: t.Attempt >= t.MaxAttempts,
		})
		return queue.Outcome{Settle: out.Settle, Postpone: out.Postpone, EventsOnly: out.EventsOnly, RecheckAt: out.RecheckAt}, err
	}
}

func headRunner(e *session.Engine, repos repoFinder) queue.Runner {
	return func(ctx context.Context, t queue.Turn) (queue.Outcome, error) {
		repoID, sha, err := subjectParts(t.Subject)
		if err != nil {
			return queue.Outcome{}, err
		}
		repo, ok, err := repoOf(ctx, t, repoID, repos)
		if err != nil || !ok {
			return queue.Outcome{}, err
		}
		out, err := e.Head(ctx, session.HeadTurn{Repo: repo, SHA: sha, Events: eventsOf(t.Events), Again: t.Attempt > 1})
		if err != nil {
			return queue.Outcome{}, err
		}
		return queue.Outcome{Wake: wakesFor(out.Wake, out.NotBefore)}, nil
	}
}

func noteRunner(e *session.Engine) queue.Runner {
	return func(ctx context.Context, t queue.Turn) (queue.Outcome, error) {
		var repo forge.Repo
		switch {
		case len(t.Events) > 0:
			repo = t.Events[0].Repo
		case t.Subject.Kind == handlers.SubjectInstallation:
			id, err := installationOf(t)
			if err != nil {
				return queue.Outcome{}, err
			}
			repo.Installation = id
		default:
			return queue.Outcome{}, nil
		}
		pulls, err := e.Note(ctx, repo, eventsOf(t.Events))
		return queue.Outcome{Wake: wakesFor(pulls, time.Time{})}, err
	}
}

func installationOf(t queue.Turn) (int64, error) {
	id, err := strconv.ParseInt(strings.TrimPrefix(t.Subject.Key, "installation:"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("subject %s: %w", t.Subject, err)
	}
	return id, nil
}

// givenUp ends what people see of a pull request that was given up. Of anything else
// nothing is seen.
func givenUp(e *session.Engine, repos repoFinder, logger zerolog.Logger) func(context.Context, queue.GivenUp) error {
	return func(ctx context.Context, g queue.GivenUp) error {
		reference := fmt.Sprintf("job-%d", g.Job)
		repoID, rest, err := subjectParts(g.Subject)
		if g.Subject.Kind != handlers.SubjectPull || err != nil {
			if !g.Last {
				return nil
			}
			logger.Error().Str("reference", reference).Str("subject", g.Subject.Key).Str("reason", g.Reason).Msg("could not complete: the subject waits for an event")
			return nil
		}
		number, err := strconv.Atoi(rest)
		if err != nil {
			return fmt.Errorf("subject %s: %w", g.Subject, err)
		}
		repo, known, err := repos.RepoByID(ctx, repoID)
		if err != nil {
			return err
		}
		if !known { // no turn ever came as far as that, so nothing was ever shown
			logger.Error().Str("reference", reference).Str("subject", g.Subject.Key).Str("reason", g.Reason).Msg("could not complete: the repository is not known")
			return nil
		}
		return e.GiveUp(ctx, forge.PullRef{Repo: repo, Number: number}, session.GivenUp{
			Failure: fmt.Sprintf("%s@%d", g.Subject.Key, g.Generation), Attempts: g.Attempts, Reason: g.Reason, Reference: reference, Last: g.Last,
		})
	}
}

func wakesFor(pulls []forge.PullRef, notBefore time.Time) []queue.Wake {
	var out []queue.Wake
	for _, p := range pulls {
		out = append(out, queue.Wake{Subject: handlers.PullSubject(p.Repo.ID, p.Number), NotBefore: notBefore})
	}
	return out
}

// subjectParts splits "kind:REPOID:REST".
func subjectParts(s handlers.Subject) (repoID int64, rest string, err error) {
	parts := strings.SplitN(s.Key, ":", 3)
	if len(parts) != 3 {
		return 0, "", fmt.Errorf("subject %q: want kind:repository:rest", s.Key)
	}
	repoID, err = strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return 0, "", fmt.Errorf("subject %q: %w", s.Key, err)
	}
	return repoID, parts[2], nil
}

func repoOf(ctx context.Context, t queue.Turn, id int64, repos repoFinder) (forge.Repo, bool, error) {
	if n := len(t.Events); n > 0 { // the newest: a repository may have been renamed
		repo := t.Events[n-1].Repo
		return repo, true, repos.RememberRepo(ctx, repo)
	}
	return repos.RepoByID(ctx, id)
}

func eventsOf(events []handlers.Event) []session.Event {
	out := make([]session.Event, len(events))
	for i, ev := range events {
		out[i] = session.Event{
			GUID: ev.GUID, Name: ev.Event, Action: ev.Action, BodySHA256: ev.BodySHA256, ReceivedAt: ev.ReceivedAt, Sender: ev.Sender.Login,
			HeadSHA: ev.HeadSHA, BaseRef: ev.BaseRef, DefaultBranch: ev.DefaultBranch, UpdatedAt: ev.UpdatedAt, Draft: ev.Draft, BaseChanged: ev.BaseChanged,
		}
		if c := ev.Check; c != nil {
			out[i].Check = &session.CheckEvent{
				Row: collect.Row{Kind: forge.CheckKind(c.Kind), ID: c.ID, AppID: c.AppID, Name: c.Name, Suite: c.SuiteID,
					Status: c.Status, Conclusion: c.Conclusion, StartedAt: c.StartedAt, At: ev.ReceivedAt},
				Ours: c.Ours, Pulls: c.Pulls, BranchUnknown: c.HeadBranchNull,
			}
		}
	}
	return out
}
