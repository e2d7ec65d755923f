package collect

import (
	"maps"
	"slices"
	"time"

	"github.com/countersign/countersign/review/forge"
)

// Row is what the local table keeps of one check, from webhook payloads. The
// table only tells when looking again is worth a call; decisions rest on what
// the forge then answers.
type Row struct {
	// Kind is one of the forge's two systems, or KindSuite.
	Kind       forge.CheckKind `json:"kind"`
	ID         int64           `json:"id"`
	AppID      int64           `json:"app_id,omitempty"`
	Name       string          `json:"name,omitempty"`
	Suite      int64           `json:"suite,omitempty"`
	Status     string          `json:"status"`
	Conclusion string          `json:"conclusion,omitempty"`
	StartedAt  time.Time       `json:"started_at,omitzero"`
	At         time.Time       `json:"at,omitzero"` // when the event arrived
}

// KindSuite marks the row of a whole check suite.
const KindSuite forge.CheckKind = "check_suite"

// MaxRows bounds the table of one head. Above it the row that was heard of
// longest ago makes room.
const MaxRows = 1000

// Merge takes an event into the table and reports whether it changed anything.
// Events overtake each other: a completed check stays completed when the news
// of its creation arrives late (case 56). It opens again only for an attempt
// that began later. The rows given are not changed.
func Merge(rows []Row, ev Row) ([]Row, bool) {
	i := slices.IndexFunc(rows, func(r Row) bool { return sameRow(r, ev) })
	if i < 0 {
		out := slices.Clone(rows)
		if len(out) >= MaxRows {
			first := slices.MinFunc(out, func(a, b Row) int { return a.At.Compare(b.At) })
			out = slices.DeleteFunc(out, func(r Row) bool { return sameRow(r, first) })
		}
		return append(out, ev), true
	}
	if !replaces(rows[i], ev) {
		return rows, false
	}
	out := slices.Clone(rows)
	out[i] = ev
	return out, !rows[i].same(ev)
}

// sameRow reports whether an event is about a row: by id, and for statuses,
// which get a new id with each state, by their context.
func sameRow(r, ev Row) bool {
	if r.Kind != ev.Kind {
		return false
	}
	if r.Kind == forge.CommitStatus {
		return r.Name == ev.Name
	}
	return r.ID == ev.ID
}

// replaces reports whether an event is news about its row.
func replaces(r, ev Row) bool {
	if r.Kind == forge.CommitStatus {
		return ev.ID > r.ID || (ev.ID == r.ID && !ev.At.Before(r.At))
	}
	if r.Kind == KindSuite {
		return !ev.At.Before(r.At)
	}
	if ev.StartedAt.Before(r.StartedAt) && !ev.StartedAt.IsZero() {
		return false
	}
	if r.Status == completed && ev.Status != completed {
		return ev.StartedAt.After(r.StartedAt)
	}
	if r.Status != completed && ev.Status == completed {
		return true // whatever order they came in: it has ended
	}
	return !ev.At.Before(r.At)
}

// completed is the status of a check that has ended.
const completed = "completed"

// Worth reports whether the gate could change with the table: a name began or
// ceased to fail, or something changed and nothing is open any more.
func Worth(before, after []Row) bool {
	if !maps.Equal(failing(before), failing(after)) {
		return true
	}
	return !open(after) && !slices.EqualFunc(before, after, Row.same)
}

// same compares rows by what they say; when the event arrived says nothing.
func (r Row) same(s Row) bool {
	return r.Kind == s.Kind && r.ID == s.ID && r.AppID == s.AppID && r.Name == s.Name && r.Suite == s.Suite &&
		r.Status == s.Status && r.Conclusion == s.Conclusion && r.StartedAt.Equal(s.StartedAt)
}

// failing is the set of names whose newest row failed. Success is a positive
// list here as everywhere.
func failing(rows []Row) map[string]bool {
	out := make(map[string]bool)
	for _, r := range current(rows) {
		if r.Status != completed {
			continue
		}
		switch r.Conclusion {
		case "success", "neutral", "skipped":
		default:
			out[string(r.Kind)+" "+r.Name] = true
		}
	}
	return out
}

func open(rows []Row) bool {
	return slices.ContainsFunc(current(rows), func(r Row) bool { return r.Status != completed })
}

// current leaves out the older attempts of a check within its suite.
func current(rows []Row) []Row {
	type key struct {
		kind       forge.CheckKind
		app, suite int64
		name       string
	}
	newest := make(map[key]Row, len(rows))
	for _, r := range rows {
		k := key{r.Kind, r.AppID, r.Suite, r.Name}
		if have, ok := newest[k]; !ok || later(r, have) {
			newest[k] = r
		}
	}
	return slices.Collect(maps.Values(newest))
}

func later(a, b Row) bool {
	if !a.StartedAt.Equal(b.StartedAt) && !a.StartedAt.IsZero() && !b.StartedAt.IsZero() {
		return a.StartedAt.After(b.StartedAt)
	}
	return a.ID > b.ID
}
