package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/countersign/countersign/review/forge"
)

// graphRequest is the body of a GraphQL call. Values travel as variables only;
// nothing from outside becomes query text.
type graphRequest struct {
	Query     string         `json:"query"`
	Variables map[string]any `json:"variables"`
}

// graphAnswer is the envelope of every GraphQL answer.
type graphAnswer struct {
	Data   json.RawMessage `json:"data"`
	Errors []graphError    `json:"errors"`
}

type graphError struct {
	Type       string `json:"type"`
	Message    string `json:"message"`
	Extensions struct {
		Code string `json:"code"`
	} `json:"extensions"`
}

// query asks GraphQL for out.
func (c *Client) query(ctx context.Context, op, route string, q graphRequest, out any) error {
	req, err := c.host.rest.NewRequest(http.MethodPost, c.host.graphql, q)
	if err != nil {
		return invalid(op, errors.New("the request cannot be formed"))
	}
	k := call{route: route, effect: read, installation: c.installation, graphql: true}
	a, err := send(ctx, c.host.http, c.host.clock, op, k, req)
	if err != nil {
		return err
	}
	err = decodeGraph(op, route, a.body, out)
	var fe *forge.Error
	if errors.As(err, &fe) && fe.Kind == forge.KindRateLimited {
		return c.limited(fe, a)
	}
	return err
}

// limited remembers a primary limit, which GraphQL reports with status 200.
func (c *Client) limited(fe *forge.Error, a answer) error {
	now := c.host.clock.now()
	fe.RetryAfter = untilReset(&http.Response{Header: a.header}, now)
	c.host.state.get(c.installation).block(limit{after: fe.RetryAfter}, true, now)
	return fe
}

// decodeGraph reads a GraphQL answer. One with errors is refused as a whole,
// whatever data came with it: what is missing could be the part that matters.
func decodeGraph(op, route string, body []byte, out any) error {
	var envelope graphAnswer
	if err := decode(op, body, &envelope); err != nil {
		return err
	}
	if len(envelope.Errors) > 0 {
		return graphFailure(op, route, envelope.Errors)
	}
	if len(envelope.Data) == 0 || string(envelope.Data) == "null" {
		return malformed(op, errors.New("neither data nor errors in the answer"))
	}
	return decode(op, envelope.Data, out)
}

// graphFailure maps GraphQL's errors to the worst of their kinds.
func graphFailure(op, route string, errs []graphError) error {
	first := errs[0]
	e := &forge.Error{Kind: graphKind(first), Op: op, Status: http.StatusOK, Err: errors.New(oneLine(first.Message))}
	for _, other := range errs[1:] {
		// One that waiting cannot mend decides over one that it can.
		if k := graphKind(other); temporary(e.Kind) && !temporary(k) {
			e.Kind, e.Err = k, errors.New(oneLine(other.Message))
		}
	}
	if len(errs) > 1 {
		e.Err = fmt.Errorf("%w, and %d more", e.Err, len(errs)-1)
	}
	if e.Kind == forge.KindForbidden {
		e.Hint = "the App needs the permission " + permissionFor(route) + ", and an owner has to accept it"
	}
	return e
}

func temporary(k forge.Kind) bool { return k == forge.KindUnavailable || k == forge.KindRateLimited }

func graphKind(e graphError) forge.Kind {
	switch strings.ToUpper(e.Type) {
	case "NOT_FOUND":
		return forge.KindNotFound
	case "FORBIDDEN", "INSUFFICIENT_SCOPES":
		return forge.KindForbidden
	case "RATE_LIMITED", "RATE_LIMIT":
		return forge.KindRateLimited
	case "MAX_NODE_LIMIT_EXCEEDED", "RESOURCE_LIMITS_EXCEEDED":
		return forge.KindTooLarge
	case "":
		// Errors in the query carry a code; internal ones carry nothing but
		// "Something went wrong".
		if e.Extensions.Code == "" && strings.Contains(e.Message, "omething went wrong") {
			return forge.KindUnavailable
		}
	case "SERVICE_UNAVAILABLE", "INTERNAL", "TIMEOUT":
		return forge.KindUnavailable
	}
	return forge.KindInvalid
}

// rest spelling of an account: GraphQL drops the suffix that REST, commits and
// people know an App by.
func restLogin(typename, login string) string {
	const suffix = "[bot]"
	if typename == "Bot" && login != "" && !strings.HasSuffix(login, suffix) {
		return login + suffix
	}
	return login
}
