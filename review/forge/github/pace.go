package github

import (
	"net/http"
)

// pace spreads content-creating calls of an installation over time, so that a
// large pull request meets GitHub's secondary limit as a delay and not as a
// refusal (case 44).
type pace struct {
	next  http.RoundTripper
	state *installations
	clock clock
	watch Observer
}

func (p *pace) RoundTrip(req *http.Request) (*http.Response, error) {
	c := callOf(req)
	if !c.isWrite() {
		return p.next.RoundTrip(req)
	}
	now := p.clock.now()
	turn := p.state.get(c.installation).writes.ReserveN(now, 1)
	wait := turn.DelayFrom(now)
	if wait > 0 {
		p.watch.Waited("pace", wait)
	}
	if wait > 0 && p.clock.sleep(req.Context(), wait) != nil {
		turn.CancelAt(now)
		return nil, &limitedError{after: wait}
	}
	return p.next.RoundTrip(req)
}
