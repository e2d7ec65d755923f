package apicheck

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// exception is a false alarm of the description's, known by name.
type exception struct {
	op     string // operation id, webhook key, or * for all
	where  string // prefix of "request", "answer 422" or "webhook"; empty: any
	text   string // part of the problem; empty: any
	reason string
}

func (e exception) covers(op, where, problem string) bool {
	return (e.op == "*" || e.op == op) && strings.HasPrefix(where, e.where) && strings.Contains(problem, e.text)
}

// exceptions are where GitHub's description is known to differ from GitHub.
func exceptions() []exception {
	return []exception{
		{"issues/add-labels", "request", "", "a bare array of names is accepted and is what go-github sends"},
		{"apps/create-installation-access-token", "request", "Value is not nullable", "ghinstallation sends null for no narrowing, which GitHub accepts"},
		{"checks/create", "answer 422", "", "422 is what GitHub answers, and is not declared"},
		{"checks/update", "answer 422", "", "422 is what GitHub answers, and is not declared"},
		{"apps/list-installations", "answer 200", "", "its schema cannot be met: account must match two types at once"},
		{"pulls/create-review-comment", "request", "in_reply_to", "replies carry in_reply_to, which is not declared"},
		{"*", "answer", "\"merge_group\"", "the enum of App events lacks merge_group"},
		{"*", "answer", "\"installation", "the enum of App events lacks the installation events"},
		{"*", "webhook", "/events/", "the enum of App events lacks merge_group and the installation events"},
		{"*", "", "/head/repo\": Value is not nullable", "a fork that is gone leaves null"},
		{"*", "", "/head/user\": Value is not nullable", "a fork that is gone leaves null"},
		{"*", "answer 401", "", "401 is GitHub's answer everywhere, and seldom declared"},
		{"*", "answer 403", "", "403 is GitHub's answer everywhere, and seldom declared"},
		{"*", "answer 404", "", "404 is GitHub's answer everywhere, and seldom declared"},
		{"*", "answer 429", "", "429 is GitHub's answer to any request, and not declared"},
		{"pulls/list-review-comments", "answer 200", `line": Value is not nullable`, "an outdated comment has no line"},
		{"pulls/list-review-comments", "answer 200", `position": Value is not nullable`, "an outdated comment has no position"},
		{"pulls/list-comments-for-review", "answer 200", `line": Value is not nullable`, "an outdated comment has no line"},
		{"pulls/get-review-comment", "answer 200", `line": Value is not nullable`, "an outdated comment has no line"},
		{"pulls/get-review-comment", "answer 200", `position": Value is not nullable`, "an outdated comment has no position"},
		{"pulls/update-review-comment", "answer 200", `line": Value is not nullable`, "an outdated comment has no line"},
		{"pulls/update-review-comment", "answer 200", `position": Value is not nullable`, "an outdated comment has no position"},
		{"pulls/create-review-comment", "answer 201", `line": Value is not nullable`, "a comment on a file has no line"},
		{"pulls/create-reply-for-review-comment", "answer 201", `line": Value is not nullable`, "an outdated comment has no line"},
		{"pulls/create-reply-for-review-comment", "answer 201", `position": Value is not nullable`, "an outdated comment has no position"},
		{"pulls/get", "answer 406", "", "406 with an error code is described by its status alone"},
	}
}

// allowed are operations the bot uses that the reduced description does not hold.
func allowed(method, path string) bool {
	for _, a := range []struct{ method, pattern, reason string }{
		{"POST", `/(api/)?graphql`, "described by the GraphQL schema, which the simulator checks"},
		{"GET", `/app/hook/deliveries(/[0-9]+)?`, "redelivery of lost webhooks"},
		{"POST", `/app/hook/deliveries/[0-9]+/attempts`, "redelivery of lost webhooks"},
		{"GET", `/orgs/[^/]+/teams/[^/]+/repos`, "the repositories of a team, for policy bindings"},
		{"GET", `/repos/[^/]+/[^/]+/properties/values`, "custom properties, for policy bindings"},
		{"GET", `/repos/[^/]+/[^/]+/contents/?`, "the root folder: the description asks for a path"},
		{"GET", `/user(s/[^/]+(/installation)?)?`, "who a token belongs to; user-owned installations"},
		{"DELETE", `/installation/token`, "clean-up of a token"},
		{"GET", `/repos/[^/]+/[^/]+/check-suites/[0-9]+(/check-runs)?`, "one suite"},
		{"POST", `/repos/[^/]+/[^/]+/check-suites/[0-9]+/rerequest`, "re-run of a suite"},
		{"GET", `/repos/[^/]+/[^/]+/issues/comments/[0-9]+`, "one comment"},
		{"GET", `/repos/[^/]+/[^/]+/commits`, "the history of a branch"},
		{"GET", `/repos/[^/]+/[^/]+/tarball/.+`, "the tree for the search tool"},
		{"GET", `/repos/[^/]+/[^/]+/actions/jobs/[0-9]+/logs`, "the log of a check"},
	} {
		if a.method == method && regexp.MustCompile("^"+a.pattern+"$").MatchString(path) {
			return true
		}
	}
	return false
}

// missed are mistakes the description does not catch.
func missed(op string, body []byte) []string {
	var in struct {
		Status     string  `json:"status"`
		Conclusion *string `json:"conclusion"`
		Side       string  `json:"side"`
		StartSide  string  `json:"start_side"`
		Comments   []struct {
			Side      string `json:"side"`
			StartSide string `json:"start_side"`
			Line      *int   `json:"line"`
		} `json:"comments"`
	}
	if len(bytes.TrimSpace(body)) == 0 || json.Unmarshal(body, &in) != nil {
		return nil
	}
	var out []string
	switch op {
	case "checks/create", "checks/update":
		if in.Status == "completed" && in.Conclusion == nil {
			out = append(out, "status completed without a conclusion")
		}
	case "pulls/create-review", "pulls/create-review-comment":
		sides := []string{in.Side, in.StartSide}
		for _, c := range in.Comments {
			sides = append(sides, c.Side, c.StartSide)
			if c.Line != nil && *c.Line < 1 {
				out = append(out, "a comment on line 0")
			}
		}
		for _, s := range sides {
			if s != "" && s != "LEFT" && s != "RIGHT" {
				out = append(out, "side "+s+": want LEFT or RIGHT")
			}
		}
	}
	return out
}
