package githubsim_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/google/go-github/v66/github"

	"github.com/countersign/countersign/app/githubsim"
)

func TestCase051_Redelivery(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	w.bot.answer(http.StatusInternalServerError)
	w.pull()
	w.idle()
	log := w.sim.Deliveries()
	d := log[len(log)-1]
	if d.State != "failed" || d.Attempts != 1 || d.Status != 500 {
		t.Fatalf("a refused delivery is %s after %d attempts (%d); want failed after one: GitHub does not redeliver by itself", d.State, d.Attempts, d.Status)
	}
	w.bot.answer(http.StatusOK)
	again, err := w.sim.Redeliver(context.Background(), d.GUID)
	if err != nil || again.Attempts != 2 || again.State != "delivered" {
		t.Errorf("redelivered: %+v, %v; want two attempts", again, err)
	}
	hooks := w.bot.hooks()
	a, b := hooks[len(hooks)-2], hooks[len(hooks)-1]
	if a.header.Get("X-GitHub-Delivery") != b.header.Get("X-GitHub-Delivery") || string(a.body) != string(b.body) {
		t.Error("a redelivery has another id or body")
	}
	list, _, err := w.asApp.Apps.ListHookDeliveries(context.Background(), &github.ListCursorOptions{PerPage: 100})
	if err != nil || list[0].GetGUID() != d.GUID || !list[0].GetRedelivery() {
		t.Errorf("the App's own list says %+v, %v", list, err)
	}
	var accepted *github.AcceptedError
	if _, _, err := w.asApp.Apps.RedeliverHookDelivery(context.Background(), d.ID); err != nil && !asError(err, &accepted) {
		t.Errorf("redeliver by the API: %v", err)
	}
	w.idle()
	if n := len(w.bot.hooks()); n != len(hooks)+1 {
		t.Errorf("%d deliveries arrived; want %d", n, len(hooks)+1)
	}
}

// TestDeliveriesAreListedByCursor: reading goes on where it was although new ones arrive meanwhile.
func TestDeliveriesAreListedByCursor(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p, ctx := w.pull(), context.Background()
	for range 4 {
		must(p.Comment("mona", "hello"))
	}
	w.idle()
	log := w.sim.Deliveries()
	seen := map[int64]bool{}
	opts := &github.ListCursorOptions{PerPage: 3}
	for range len(log) {
		list, resp, err := w.asApp.Apps.ListHookDeliveries(ctx, opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range list {
			if seen[d.GetID()] {
				t.Errorf("delivery %d is listed twice", d.GetID())
			}
			seen[d.GetID()] = true
		}
		if opts.Cursor = resp.Cursor; opts.Cursor == "" {
			break
		}
		must(p.Comment("mona", "meanwhile"))
		w.idle()
	}
	for _, d := range log {
		if !seen[d.ID] {
			t.Errorf("delivery %d (%s %s) is not listed", d.ID, d.Event, d.Action)
		}
	}
	if len(seen) != len(log) {
		t.Errorf("%d deliveries listed; want the %d there were at first", len(seen), len(log))
	}
	one, _, err := w.asApp.Apps.GetHookDelivery(ctx, log[0].ID)
	if err != nil || one.GetGUID() != log[0].GUID || len(*one.Request.RawPayload) == 0 {
		t.Errorf("one delivery: %+v, %v; want its payload", one, err)
	}
}
