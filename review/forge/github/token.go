package github

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/countersign/countersign/review/forge"
	jwt "github.com/golang-jwt/jwt/v4"
	gh "github.com/google/go-github/v66/github"
	"github.com/rs/zerolog"
)

// token is an installation's access token.
type token struct {
	value   string
	created time.Time
	expires time.Time
}

// leastLife keeps a token in use for a while even when it seems to end at once:
// with our clock far ahead of GitHub's, every call would otherwise mint one.
const leastLife = time.Minute

// usable reports whether the token has margin left. Its last minutes are not
// used: between the check and the call it would end (case 46).
func (t token) usable(now time.Time, margin time.Duration) bool {
	if t.value == "" {
		return false
	}
	age := now.Sub(t.created)
	return t.expires.Sub(now) >= margin || (age >= 0 && age < leastLife)
}

// signer signs the App's own tokens. ghinstallation issues them 30 s in the
// past; GitHub's advice is 60 s, so that a clock a little ahead of GitHub's is
// no failure (case 49). Their life of ten minutes at most is GitHub's rule.
type signer struct {
	key   *rsa.PrivateKey
	clock clock
	skew  *skew
}

const (
	issuedAgo = time.Minute
	appLife   = 5 * time.Minute
)

func newSigner(pem []byte, c clock) (*signer, error) {
	key, err := jwt.ParseRSAPrivateKeyFromPEM(pem)
	if err != nil {
		return nil, fmt.Errorf("github app private key: want the RSA key in PEM form that GitHub let you download: %w", err)
	}
	return &signer{key: key, clock: c, skew: &skew{}}, nil
}

// Sign implements ghinstallation.Signer.
func (s *signer) Sign(claims jwt.Claims) (string, error) {
	registered, ok := claims.(*jwt.RegisteredClaims)
	if !ok {
		return "", fmt.Errorf("sign app token: unexpected claims %T", claims)
	}
	issued := s.clock.now().Add(s.skew.get() - issuedAgo).Truncate(time.Second)
	ours := *registered
	ours.IssuedAt = jwt.NewNumericDate(issued)
	ours.ExpiresAt = jwt.NewNumericDate(issued.Add(issuedAgo + appLife))
	return jwt.NewWithClaims(jwt.SigningMethodRS256, &ours).SignedString(s.key)
}

// minter makes installation tokens. go-githubapp and ghinstallation keep tokens
// of their own, until a minute before their end and past any 401, so only their
// App authentication is used.
type minter struct {
	rest  *gh.Client
	http  *http.Client
	clock clock
}

func newMinter(h *Host, wire http.RoundTripper, s *signer, log zerolog.Logger) (*minter, error) {
	app, err := ghinstallation.NewAppsTransportWithOptions(wire, h.appID, ghinstallation.WithSigner(s))
	if err != nil {
		return nil, fmt.Errorf("github app authentication: %w", err)
	}
	signed := &resign{next: app, skew: s.skew, clock: h.clock, log: log}
	client := &http.Client{Transport: signed, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &minter{rest: h.rest, http: client, clock: h.clock}, nil
}

func (m *minter) mint(ctx context.Context, installation int64) (token, error) {
	op := fmt.Sprintf("make a token for installation %d", installation)
	c := call{route: routeToken, effect: mints, installation: installation}
	req, err := m.rest.NewRequest(http.MethodPost, fmt.Sprintf("app/installations/%d/access_tokens", installation), nil)
	if err != nil {
		return token{}, &forge.Error{Kind: forge.KindInvalid, Op: op, Err: err}
	}
	// ghinstallation adds its own Accept header.
	req.Header.Del("Accept")
	answer, err := send(ctx, m.http, m.clock, op, c, req)
	if err != nil {
		return token{}, err
	}
	var made gh.InstallationToken
	if err := json.Unmarshal(answer.body, &made); err != nil {
		return token{}, malformed(op, errors.New("the token answer is not what GitHub promises")) // err may quote it
	}
	now := m.clock.now()
	if made.GetToken() == "" || made.ExpiresAt == nil {
		return token{}, malformed(op, errors.New("no token or no expiry in the answer"))
	}
	return token{value: made.GetToken(), created: now, expires: made.GetExpiresAt().Time}, nil
}
