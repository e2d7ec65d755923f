package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/countersign/countersign/review/forge"
)

// NewReader returns a client that reads with a person's own token, with what that
// person may see. It refuses to write, whatever the token allows. App id and
// private key of the options are not used, and no check counts as our own.
func NewReader(o Options, personal string) (forge.Client, error) {
	if personal == "" {
		return nil, errors.New("no token: want a person's token that may read the repository")
	}
	o.AppID = 0
	h, err := newHost(o)
	if err != nil {
		return nil, err
	}
	h.connect(&readOnly{next: h.wire(o)}, fixedToken(personal))
	return &Client{host: h, installation: theReader}, nil
}

// theReader stands for an installation where there is none.
const theReader = 1

// fixedToken is a token that nobody can renew.
type fixedToken string

func (t fixedToken) mint(context.Context, int64) (token, error) {
	// Made long ago: a refusal is not taken for that of a young token.
	return token{value: string(t), created: time.Unix(0, 0), expires: time.Unix(1<<40, 0)}, nil
}

// readOnly lets nothing pass that changes something.
type readOnly struct{ next http.RoundTripper }

func (r *readOnly) RoundTrip(req *http.Request) (*http.Response, error) {
	if c := callOf(req); c.effect != read {
		return nil, fmt.Errorf("refusing to write with a person's token: %s", c.route)
	}
	return r.next.RoundTrip(req)
}
