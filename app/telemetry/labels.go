package telemetry

import (
	"slices"
	"sync"
)

// other stands for what is in no set.
const other = "other"

// events are the events that the App subscribes to (app.yml) and those that
// GitHub sends to every App. The name comes from a header that anyone can send.
func events() []string {
	return []string{
		"pull_request", "pull_request_review", "issue_comment", "check_run", "check_suite", "status", "merge_group",
		"installation", "installation_repositories", "repository", "push", "ping",
	}
}

// within is the value where it is one of the set.
func within(value string, set []string) string {
	if slices.Contains(set, value) {
		return value
	}
	return other
}

// maxRoutes is well above the number of routes that the adapter calls. They are
// constants of its own; the bound holds should one ever not be.
const maxRoutes = 100

// known learns the first values of a set, up to a bound; the rest is "other".
type known struct {
	most int
	mu   sync.RWMutex
	seen map[string]bool
}

func newKnown(most int) *known { return &known{most: most, seen: make(map[string]bool)} }

func (k *known) value(v string) string {
	k.mu.RLock()
	seen := k.seen[v]
	k.mu.RUnlock()
	if seen {
		return v
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.seen[v] && len(k.seen) >= k.most {
		return other
	}
	k.seen[v] = true
	return v
}

// class is a status class: "2xx", "4xx" and so on, with the statuses that call
// for an operator told apart, and "none" where no answer came.
func class(status int) string {
	switch {
	case status == 0:
		return "none"
	case status == 401, status == 403, status == 404, status == 422, status == 429:
		return map[int]string{401: "401", 403: "403", 404: "404", 422: "422", 429: "429"}[status]
	case status >= 100 && status < 600:
		return string([]byte{byte('0' + status/100), 'x', 'x'})
	}
	return other
}
