package handlers

import (
	"errors"
	"fmt"
	"strings"

	"github.com/countersign/countersign/review/forge"
)

// maxField bounds a name taken from a payload, in bytes. GitHub's own names are
// far shorter (a ref has at most 250); this only keeps a stored event small.
const maxField = 1 << 10

// Parser reads deliveries. It never changes after NewParser and may be used by
// many goroutines.
type Parser struct {
	ownAppID int64
	shapes   shapes
	named    *shape // of an element of pull_requests
}

// NewParser returns a parser that knows which checks and comments are our own
// App's. The id must not be zero: everything of ours would look foreign, and our
// own checks would wake us.
func NewParser(ownAppID int64) (*Parser, error) {
	if ownAppID <= 0 {
		return nil, fmt.Errorf("parse deliveries: the App's id is %d; set the one GitHub shows for the App", ownAppID)
	}
	return &Parser{ownAppID: ownAppID, shapes: newShapes(), named: namedPull()}, nil
}

// Parse reduces a delivery to an Event and says whose job it wakes. It is pure:
// GUID, ReceivedAt and BodySHA256 are the caller's to fill. An error means that
// the body is not JSON, or lacks what its event cannot be without.
func (p *Parser) Parse(event string, body []byte) (Event, Route, error) {
	var slots [slotCount]value
	if err := scan(body, p.shapes[event], slots[:]); err != nil {
		return Event{}, Route{}, fmt.Errorf("read the body as JSON: %w", err)
	}
	if len(body) == 0 || firstByte(body) != '{' {
		return Event{}, Route{}, errors.New("read the body as JSON: it is not an object")
	}
	e := readCommon(event, slots[:])
	if p.shapes[event] == nil {
		return e, ignored("nothing acts on the event " + printable(event)), nil
	}
	var route Route
	var err error
	switch event {
	case "pull_request":
		route, err = readPull(&e, slots[:])
	case "pull_request_review":
		route, err = p.readReview(&e, slots[:])
	case "issue_comment":
		route, err = p.readComment(&e, slots[:])
	case "check_run", "check_suite":
		route, err = p.readCheck(&e, slots[:])
	case "status":
		route, err = readStatus(&e, slots[:])
	case "push", "merge_group":
		route, err = readRepoEvent(&e, slots[:])
	case "installation", "installation_repositories":
		route, err = readInstallation(&e)
	}
	if err != nil {
		return Event{}, Route{}, fmt.Errorf("read the %s delivery: %w", event, err)
	}
	return e, route, nil
}

func ignored(sentence string) Route { return Route{Ignore: sentence} }

func routed(s Subject, why string) Route { return Route{Subject: s, Why: why} }

// firstByte skips white space; scan has shown that something follows.
func firstByte(body []byte) byte {
	for _, c := range body {
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			return c
		}
	}
	return 0
}

// printable keeps a header's text from forging log lines or answers.
func printable(s string) string {
	s = cut(s, 64)
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r > 0x7e {
			return '?'
		}
		return r
	}, s)
}

func readCommon(event string, v []value) Event {
	return Event{
		Event:  printable(event),
		Action: v[slotAction].text(64),
		Repo: forge.Repo{
			ID:           v[slotRepoID].integer(),
			Owner:        v[slotRepoOwner].text(maxField),
			Name:         v[slotRepoName].text(maxField),
			Installation: v[slotInstallation].integer(),
		},
		DefaultBranch: v[slotRepoDefault].text(maxField),
		Private:       v[slotRepoPrivate].boolean(),
		Sender:        account(v[slotSenderID], v[slotSenderLogin], v[slotSenderType]),
	}
}

func account(id, login, kind value) forge.Account {
	return forge.Account{ID: id.integer(), Login: login.text(maxField), Bot: kind.text(16) == "Bot"}
}

// needRepo refuses an event that names no repository: it would be stored under a
// key that means nothing.
func needRepo(e *Event) error {
	if e.Repo.ID <= 0 || e.Repo.Owner == "" || e.Repo.Name == "" {
		return errors.New("it names no repository (repository.id, owner.login, name)")
	}
	return nil
}

// needSHA refuses what is no commit id, SHA-1 or SHA-256.
func needSHA(sha, where string) error {
	if len(sha) != 40 && len(sha) != 64 {
		return fmt.Errorf("%s is not a commit id", where)
	}
	for _, c := range []byte(sha) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return fmt.Errorf("%s is not a commit id", where)
		}
	}
	return nil
}

func readRepoEvent(e *Event, v []value) (Route, error) {
	if err := needRepo(e); err != nil {
		return Route{}, err
	}
	if e.Event == "push" {
		e.BaseRef = v[slotRef].text(maxField)
		e.BaseSHA, e.HeadSHA = v[slotBefore].text(64), v[slotAfter].text(64)
		return routed(RepoSubject(e.Repo.ID), "a ref of the repository moved"), nil
	}
	e.HeadSHA, e.BaseSHA = v[slotGroupHead].text(64), v[slotGroupBase].text(64)
	e.BaseRef = strings.TrimPrefix(v[slotGroupBaseRef].text(maxField), "refs/heads/")
	return routed(RepoSubject(e.Repo.ID), "a merge group of the repository changed"), nil
}

func readInstallation(e *Event) (Route, error) {
	if e.Repo.Installation <= 0 {
		return Route{}, errors.New("it names no installation (installation.id)")
	}
	return routed(InstallationSubject(e.Repo.Installation), "the installation changed"), nil
}
