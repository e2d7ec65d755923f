package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/countersign/countersign/review/forge"
	gh "github.com/google/go-github/v66/github"
)

// Whoami asks GitHub which App the key belongs to and answers its slug. An id
// that is not the configured one is an error: every check would otherwise be
// taken for somebody else's.
func (h *Host) Whoami(ctx context.Context) (slug string, err error) {
	op := fmt.Sprintf("read app %d", h.appID)
	req, err := h.minter.rest.NewRequest(http.MethodGet, "app", nil)
	if err != nil {
		return "", &forge.Error{Kind: forge.KindInvalid, Op: op, Err: err}
	}
	req.Header.Del("Accept") // ghinstallation adds its own
	a, err := send(ctx, h.minter.http, h.clock, op, call{route: routeApp, effect: read}, req)
	if err != nil {
		return "", err
	}
	var app gh.App
	if err := decode(op, a.body, &app); err != nil {
		return "", err
	}
	if app.GetID() != h.appID || app.GetSlug() == "" {
		return "", malformed(op, errors.New("the private key belongs to another App"))
	}
	return app.GetSlug(), nil
}
