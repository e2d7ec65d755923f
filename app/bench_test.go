package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/countersign/countersign/app/githubsim"
)

// forBench takes away what is not the service's own: the pace that GitHub's
// limits ask for, and the validation of every call.
func forBench(w *world) {
	w.settings.WritesPerMinute, w.settings.Workers = 1_000_000, 8
	w.base = http.DefaultTransport
}

// BenchmarkGate is the way from the deliveries of an opened pull request with a
// green build to the finished gate on GitHub: intake, session, and up to nine
// calls over HTTP to a simulator that answers at once, on the same cores. One at
// a time gives the time a developer waits for, a burst the throughput.
func BenchmarkGate(b *testing.B) {
	for _, files := range []int{1, 30} {
		b.Run(fmt.Sprintf("one at a time/files=%d", files), func(b *testing.B) {
			w := newWorld(b, forBench)
			took := make([]time.Duration, b.N)
			for i := range b.N {
				p := w.green(i, files)
				begin := time.Now()
				w.sim.Release()
				w.gated(p)
				took[i] = time.Since(begin)
				w.idle()
			}
			slices.Sort(took)
			b.ReportMetric(ms(took[len(took)/2]), "p50-ms")
			b.ReportMetric(ms(took[len(took)*99/100]), "p99-ms")
			b.ReportMetric(0, "ns/op") // it would count the simulator's preparations
		})
	}
	b.Run("burst", func(b *testing.B) {
		w := newWorld(b, forBench)
		var pulls []*githubsim.Pull
		for i := range b.N {
			pulls = append(pulls, w.green(i, 1))
		}
		b.ResetTimer()
		w.sim.Release()
		for _, p := range pulls {
			w.gated(p)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "gates/s")
	})
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// green opens a pull request of source files whose build has passed, and holds
// the deliveries back.
func (w *world) green(i, files int) *githubsim.Pull {
	w.t.Helper()
	w.sim.Hold()
	var changes []githubsim.Change
	for f := range files {
		changes = append(changes, githubsim.Change{Path: fmt.Sprintf("part%d/file%d.go", i, f), Content: "package part\n"})
	}
	p := w.open(fmt.Sprintf("bench-%d", i), changes...)
	w.check(p.HeadSHA(), "build", "success")
	return p
}

// gated waits for the decision, more closely than tests do.
func (w *world) gated(p *githubsim.Pull) {
	w.t.Helper()
	want := concluded("action_required", "Medium · not reviewed")
	deadline := time.Now().Add(patience)
	for {
		for _, run := range w.ours(p.HeadSHA(), "countersign") {
			if want(run) {
				return
			}
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("no gate on #%d after %s", p.Number(), patience)
		}
		time.Sleep(time.Millisecond) // a benchmark, not a test
	}
}
