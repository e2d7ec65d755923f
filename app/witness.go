package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app/store"
	"github.com/countersign/countersign/config"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/forge/github"
	"github.com/countersign/countersign/review/publish"
	"github.com/countersign/countersign/review/trail"
)

// Witness asks GitHub what our checks show. It only reads.
type Witness struct {
	host  forge.Host
	store *store.Store
}

// NewWitness returns the Witness of the settings' App. transport is the base of
// every call out; nil: the default one.
func NewWitness(s config.Settings, db *store.Store, version string, transport http.RoundTripper) (*Witness, error) {
	host, err := github.New(github.Options{
		AppID: s.AppID, PrivateKeyPEM: s.PrivateKey, RESTURL: s.V3URL, GraphQLURL: s.V4URL,
		Transport: transport, Logger: zerolog.Nop(), UserAgent: "countersign/" + version,
	})
	if err != nil {
		return nil, err
	}
	return &Witness{host: host, store: db}, nil
}

// WitnessedNames are the checks whose text ends with the trail's hash.
func WitnessedNames() []string { return []string{publish.CheckName, publish.AdvisoryName} }

// Shown implements trail.Witness.
func (w *Witness) Shown(ctx context.Context, p trail.Published) ([]trail.ShownRun, error) {
	repo, ok, err := w.store.RepoByID(ctx, p.RepoID)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("%w: no installation is known for repository %d", trail.ErrUnreachable, p.RepoID)
	}
	client, err := w.host.Client(repo.Installation)
	if err != nil {
		return nil, err
	}
	checks, err := client.OwnChecks(ctx, repo, p.HeadSHA, p.Name)
	var fe *forge.Error
	switch {
	case err != nil && !forge.Temporary(err) && errors.As(err, &fe) && !forge.IsKind(err, forge.KindUnauthorized):
		return nil, fmt.Errorf("%w: GitHub answered %d", trail.ErrUnreachable, fe.Status)
	case err != nil:
		return nil, err
	}
	hash := trailLine()
	out := make([]trail.ShownRun, 0, len(checks))
	for _, c := range checks {
		run := trail.ShownRun{ID: c.ID, ExternalID: c.ExternalID, GivenUp: c.Conclusion == "cancelled"}
		if found := hash.FindAllStringSubmatch(c.Summary, -1); len(found) > 0 {
			run.Hash = found[len(found)-1][1] // text by others may stand before it
		}
		out = append(out, run)
	}
	return out, nil
}

// trailLine is how a check's summary names the trail's head, last of all.
func trailLine() *regexp.Regexp { return regexp.MustCompile("trail `([0-9a-f]{12})`") }
