package app_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/countersign/countersign/app/githubsim"
	"github.com/countersign/countersign/review/trail"
)

// CASES area 4, what an installation lacks, and what the door refuses.

// One installation is suspended: its jobs do not storm, and another's go on.
func TestCase072_OthersGoOn(t *testing.T) {
	w := newWorld(t)
	other, err := w.sim.AddRepo(githubsim.RepoSpec{Owner: "globex", Name: "site"})
	w.must(err)
	_, err = other.Commit("main", "start", githubsim.CommitSpec{Changes: []githubsim.Change{{Path: "README.md", Content: "# x\n"}}})
	w.must(err)
	_, err = w.sim.Install(w.app, "globex", other)
	w.must(err)
	w.idle()
	w.sim.Hold()
	for _, branch := range []string{"one", "two", "three"} {
		w.docs(branch)
	}
	w.must(w.inst.Suspend())
	p, err := other.OpenPull(githubsim.PullSpec{Title: "Change the docs", Body: "Because.", Author: "mona", Head: "b", Changes: []githubsim.Change{{Path: "docs/a.md", Content: "# x\n"}}})
	w.must(err)
	w.sim.ResetRequests()
	w.sim.Release()
	w.until(func() bool {
		return slices.ContainsFunc(other.CheckRuns(p.HeadSHA()), func(run githubsim.CheckRun) bool {
			return run.AppID == w.app.ID() && waiting("Low")(run)
		})
	}, func() string { return "the other installation was not served" })
	w.idle()
	refused := 0
	for _, r := range w.sim.Requests() {
		if r.Status == http.StatusForbidden {
			refused++
		}
	}
	if refused > 6 {
		t.Errorf("%d calls were refused for three pull requests of a suspended installation", refused)
	}
}

// A permission is missing: what it is is said once for all the pull requests that wait
// for it, not at each event; and all of them are handled when it is there.
func TestCase073_SaidOnceHandledLater(t *testing.T) {
	w := newWorld(t)
	perms := githubsim.DefaultPermissions()
	perms["checks"] = "read"
	w.inst.WithholdPermissions(perms)
	var pulls []*githubsim.Pull
	for _, branch := range []string{"one", "two", "three"} {
		pulls = append(pulls, w.docs(branch))
	}
	w.idle()
	w.sim.ResetRequests()
	_, err := pulls[0].Comment("mona", "is anybody there?")
	w.must(err)
	w.check(pulls[0].HeadSHA(), "build", "success")
	w.idle()
	if total, routes := w.calls(); total > 8 {
		t.Errorf("%d calls while a permission is missing: %v", total, routes)
	}
	told := 0
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, `"level":"warn"`) && strings.Contains(line, "checks=write") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("the missing permission is told %d times, want once", told)
	}
	perms["checks"] = "write"
	w.must(w.inst.SetPermissions(perms))
	for _, p := range pulls {
		w.await(p.HeadSHA(), func(run githubsim.CheckRun) bool { return strings.HasPrefix(run.Output.Title, "Low") })
	}
}

// What the door refuses, and what it takes without acting on it, by the live service.
func TestCase075_TheDoor(t *testing.T) {
	w := newWorld(t)
	w.sim.Hold()
	p := w.docs("door")
	body := w.lastDelivery("pull_request", "opened").Body
	form := []byte("payload=" + string(body))
	labeled := bytes.Replace(body, []byte(`"action":"opened"`), []byte(`"action":"labeled"`), 1)
	for _, tc := range []struct {
		name    string
		body    []byte
		headers map[string]string
		status  int
	}{
		{"form-encoded", form, map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, http.StatusUnsupportedMediaType},
		{"wrong signature", body, map[string]string{"X-Hub-Signature-256": githubsim.Sign("guess", body)}, http.StatusForbidden},
		{"signature of another body", body, map[string]string{"X-Hub-Signature-256": githubsim.Sign(hookSecret, form)}, http.StatusForbidden},
		{"empty signature", body, map[string]string{"X-Hub-Signature-256": ""}, http.StatusUnauthorized},
		{"signed with nothing", body, map[string]string{"X-Hub-Signature-256": githubsim.Sign("", body)}, http.StatusForbidden},
		{"ping", []byte(`{"zen":"Keep it logically awesome.","hook_id":1}`), map[string]string{"X-GitHub-Event": "ping"}, http.StatusOK},
		{"unknown event", []byte(`{"action":"created"}`), map[string]string{"X-GitHub-Event": "star"}, http.StatusAccepted},
		{"unknown action", labeled, nil, http.StatusAccepted},
	} {
		if code := w.send(tc.body, tc.headers); code != tc.status {
			t.Errorf("%s: answered %d, want %d", tc.name, code, tc.status)
		}
	}
	w.stored(0)
	w.idle()
	if total, routes := w.calls(); total != 0 || len(w.records(p.Number(), trail.TypeRunStart)) != 0 {
		t.Errorf("%d calls: %v", total, routes)
	}
}
