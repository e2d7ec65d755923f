package github

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// authenticate gives each call its installation's token.
//
// A 401 has two harmless causes. A young token may not have reached all of
// GitHub's machines yet: the same token is tried again with growing pauses
// (case 47). An older one may have been revoked, or ended while we looked: it is
// dropped and the call repeated once with a fresh one (cases 45 and 46). Neither
// can have done anything, so this holds for writes as well.
type authenticate struct {
	next   http.RoundTripper
	state  *installations
	tokens tokens
	clock  clock
	margin time.Duration
	hosts  []string // the only ones that are given a token
}

// tokens makes the token of an installation.
type tokens interface {
	mint(ctx context.Context, installation int64) (token, error)
}

const (
	// youngAge is how long after its creation a refused token may only be new.
	youngAge = 5 * time.Second
	// youngTries bounds the calls with a refused young token, with pauses of 1, 2
	// and 2 seconds before them.
	youngTries = 3
)

func (a *authenticate) RoundTrip(req *http.Request) (*http.Response, error) {
	if !isOneOf(req.URL.Host, a.hosts) {
		return nil, errors.New("refusing to send a token to another host")
	}
	ctx, inst := req.Context(), a.state.get(callOf(req).installation)
	tok, err := a.token(ctx, inst)
	if err != nil {
		return nil, err
	}
	resp, err := a.try(req, tok)
	paused, renewed := 0, false
	for err == nil && resp.StatusCode == http.StatusUnauthorized {
		switch age := a.clock.now().Sub(tok.created); {
		case age >= 0 && age < youngAge && paused < youngTries:
			paused++
			if a.clock.sleep(ctx, min(time.Duration(paused)*time.Second, 2*time.Second)) != nil {
				return resp, nil
			}
		case paused == 0 && !renewed:
			renewed = true
			if tok, err = a.renew(ctx, inst, tok); err != nil {
				return nil, err
			}
		default:
			a.drop(ctx, inst, tok)
			return resp, nil
		}
		resp, err = a.try(req, tok)
	}
	return resp, err
}

func (a *authenticate) try(req *http.Request, tok token) (*http.Response, error) {
	attempt, err := again(req)
	if err != nil {
		return nil, err
	}
	attempt.Header.Set("Authorization", "Bearer "+tok.value)
	return a.next.RoundTrip(attempt)
}

// token returns the installation's token, made or renewed as needed.
func (a *authenticate) token(ctx context.Context, inst *installation) (token, error) {
	if err := inst.lock(ctx); err != nil {
		return token{}, err
	}
	defer inst.unlock()
	return a.fresh(ctx, inst)
}

// fresh is token with the installation's turn held.
func (a *authenticate) fresh(ctx context.Context, inst *installation) (token, error) {
	if inst.token.usable(a.clock.now(), a.margin) {
		return inst.token, nil
	}
	made, err := a.tokens.mint(ctx, inst.id)
	if err != nil {
		return token{}, err
	}
	inst.token = made
	return made, nil
}

// renew replaces a refused token, unless another call has done so already.
func (a *authenticate) renew(ctx context.Context, inst *installation, refused token) (token, error) {
	if err := inst.lock(ctx); err != nil {
		return token{}, err
	}
	defer inst.unlock()
	if inst.token.value == refused.value {
		inst.token = token{}
	}
	return a.fresh(ctx, inst)
}

// drop forgets a token that GitHub keeps refusing, so that the next call begins
// with a new one.
func (a *authenticate) drop(ctx context.Context, inst *installation, refused token) {
	if inst.lock(ctx) != nil {
		return
	}
	defer inst.unlock()
	if inst.token.value == refused.value {
		inst.token = token{}
	}
}
