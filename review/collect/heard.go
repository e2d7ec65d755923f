package collect

import (
	"slices"
	"time"

	"github.com/countersign/countersign/review/forge"
)

const (
	// LagWindow is how long GitHub's list is given to show what GitHub's own event
	// told; after that the list is believed.
	LagWindow = 2 * time.Minute
	// lagPause is the time between two looks at a list that lags.
	lagPause = 5 * time.Second
)

// behind are the checks that an event told of lately and that the list, although
// read later, does not show yet: for seconds after a write GitHub's lists may lack
// it.
func (in ChecksInput) behind() []Row {
	var out []Row
	for _, r := range current(in.Heard) {
		if r.Kind != KindSuite && in.Now.Sub(r.At) < LagWindow && !slices.ContainsFunc(in.Snapshot.Checks, r.shownBy) {
			out = append(out, r)
		}
	}
	return out
}

// shownBy reports whether a row of the list is the event's check in the event's state
// or a later one.
func (r Row) shownBy(c forge.Check) bool {
	if c.Kind != r.Kind || c.Name != r.Name {
		return false
	}
	if r.Kind == forge.CommitStatus { // the list gives them no id
		return !c.StartedAt.Before(r.StartedAt.Truncate(time.Second))
	}
	switch {
	case c.AppID != r.AppID || c.ID < r.ID:
		return false
	case c.ID > r.ID || c.StartedAt.After(r.StartedAt):
		return true // a later attempt
	case r.Status != completed:
		return !c.StartedAt.Before(r.StartedAt)
	}
	return c.Status == completed && c.Conclusion == r.Conclusion
}

// withHeard is the list with what it lacks, as far as that makes the gate stricter: an
// event may say that a check fails or is running, never that it passed.
func (in ChecksInput) withHeard() []forge.Check {
	rows := slices.Clone(in.Snapshot.Checks)
	for _, r := range in.behind() {
		if r.Status == completed && len(failing([]Row{r})) == 0 {
			continue
		}
		row := forge.Check{Kind: r.Kind, ID: r.ID, Name: r.Name, AppID: r.AppID, Suite: r.Suite}
		i := slices.IndexFunc(rows, func(c forge.Check) bool { return r.Kind == forge.CheckRun && c.Kind == r.Kind && c.ID == r.ID })
		if i >= 0 {
			row = rows[i]
			rows = slices.Delete(rows, i, i+1)
		}
		row.Status, row.Conclusion, row.StartedAt = r.Status, r.Conclusion, r.StartedAt
		rows = append(rows, row)
	}
	return rows
}
