package collect

import (
	"slices"
	"testing"
	"time"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
)

// GitHub's list lacks what its own event told (case 56 and its kin): what fails or
// runs counts at once, what passed is waited for, and the list is read again soon.
func TestListBehindItsEvents(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return now.Add(d) }
	heard := func(id int64, status, conclusion string, started, told time.Duration) Row {
		return Row{Kind: forge.CheckRun, ID: id, AppID: 1, Name: "build", Status: status, Conclusion: conclusion, StartedAt: at(started), At: at(told)}
	}
	listed := func(id int64, status, conclusion string, started time.Duration) []forge.Check {
		return []forge.Check{{Kind: forge.CheckRun, ID: id, AppID: 1, Name: "build", Workflow: "ci.yml", Status: status, Conclusion: conclusion, StartedAt: at(started)}}
	}
	status := func(state string, created time.Duration) []forge.Check {
		return []forge.Check{{Kind: forge.CommitStatus, Name: "ci", Status: "completed", Conclusion: state, StartedAt: at(created)}}
	}
	for name, tc := range map[string]struct {
		list   []forge.Check
		heard  Row
		want   string // the newest row's state; empty: none
		reread bool
	}{
		"a failure that is not listed":            {nil, heard(7, "completed", "failure", -9*time.Second, -time.Second), "failure", true},
		"a run that is not listed":                {nil, heard(7, "in_progress", "", -9*time.Second, -time.Second), "in_progress", true},
		"a success that is not listed":            {nil, heard(7, "completed", "success", -9*time.Second, -time.Second), "", true},
		"listed as running, it failed":            {listed(7, "in_progress", "", -9*time.Second), heard(7, "completed", "failure", -9*time.Second, -time.Second), "failure", true},
		"listed as running, it passed":            {listed(7, "in_progress", "", -9*time.Second), heard(7, "completed", "success", -9*time.Second, -time.Second), "in_progress", true},
		"the older attempt is listed":             {listed(6, "completed", "success", -99*time.Second), heard(7, "completed", "failure", -9*time.Second, -time.Second), "failure", true},
		"a newer attempt is listed":               {listed(8, "completed", "success", -5*time.Second), heard(7, "completed", "failure", -9*time.Second, -time.Second), "success", false},
		"listed as it was told":                   {listed(7, "completed", "failure", -9*time.Second), heard(7, "completed", "failure", -9*time.Second, -time.Second), "failure", false},
		"listed as ended, told as begun":          {listed(7, "completed", "success", -9*time.Second), heard(7, "in_progress", "", -9*time.Second, -time.Second), "success", false},
		"begun once more under its id":            {listed(7, "completed", "success", -99*time.Second), heard(7, "in_progress", "", -9*time.Second, -time.Second), "in_progress", true},
		"told so long ago that the list is right": {nil, heard(7, "completed", "failure", -9*time.Minute, -LagWindow), "", false},
		"a suite is no check":                     {nil, Row{Kind: KindSuite, ID: 7, Status: "completed", Conclusion: "failure", At: now}, "", false},
		"a status that is not listed":             {nil, Row{Kind: forge.CommitStatus, ID: 3, Name: "ci", Status: "completed", Conclusion: "failure", StartedAt: at(-time.Second), At: now}, "failure", true},
		"a status listed as it was before":        {status("success", -60*time.Second), Row{Kind: forge.CommitStatus, ID: 3, Name: "ci", Status: "completed", Conclusion: "failure", StartedAt: at(-time.Second), At: now}, "failure", true},
		"a status listed by its second":           {status("success", -time.Second), Row{Kind: forge.CommitStatus, ID: 3, Name: "ci", Status: "completed", Conclusion: "success", StartedAt: at(-time.Second + 300*time.Millisecond), At: now}, "success", false},
	} {
		t.Run(name, func(t *testing.T) {
			in := ChecksInput{Snapshot: forge.Snapshot{Checks: tc.list, ChecksComplete: true}, Heard: []Row{tc.heard}, Now: now, HeadSince: at(-time.Hour), Wait: time.Minute}
			got, results := "", Checks(in).Results
			if len(results) > 0 {
				newest := slices.MaxFunc(results, func(a, b review.CheckResult) int { return a.StartedAt.Compare(b.StartedAt) })
				if got = newest.Conclusion; newest.Status != "completed" {
					got = newest.Status
				}
			}
			if got != tc.want {
				t.Errorf("counts as %q, want %q: %+v", got, tc.want, results)
			}
			if next := Recheck(in); next.Equal(at(lagPause)) != tc.reread {
				t.Errorf("read again at %s, want soon: %v", next, tc.reread)
			}
		})
	}
}
