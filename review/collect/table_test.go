package collect

import (
	"testing"
	"time"

	"github.com/countersign/countersign/review/forge"
)

func row(id int64, name, status, conclusion string, started int) Row {
	r := Row{Kind: forge.CheckRun, ID: id, AppID: actions, Name: name, Suite: 1, Status: status, Conclusion: conclusion, At: noon}
	if started >= 0 {
		r.StartedAt = noon.Add(time.Duration(started) * time.Minute)
	}
	return r
}

func statusRow(id int64, name, conclusion string) Row {
	r := Row{Kind: forge.CommitStatus, ID: id, Name: name, Status: completed, Conclusion: conclusion, At: noon}
	if conclusion == "" {
		r.Status = "pending"
	}
	return r
}

func TestMerge(t *testing.T) {
	later := func(r Row) Row { r.At = noon.Add(time.Minute); return r }
	for name, tc := range map[string]struct {
		have, ev Row
		want     string // status conclusion of the row afterwards
		changed  bool
	}{
		"case-056 a late creation":        {row(1, "a", completed, "success", 0), later(row(1, "a", "queued", "", 0)), "completed success", false},
		"case-056 without a start":        {row(1, "a", completed, "success", 0), later(row(1, "a", "queued", "", -1)), "completed success", false},
		"it ends":                         {row(1, "a", "in_progress", "", 0), later(row(1, "a", completed, "failure", 0)), "completed failure", true},
		"it ended, by an event sent late": {later(row(1, "a", "in_progress", "", 0)), row(1, "a", completed, "failure", 0), "completed failure", true},
		"it begins again":                 {row(1, "a", completed, "failure", 0), later(row(1, "a", "in_progress", "", 5)), "in_progress ", true},
		"an attempt before":               {row(1, "a", "in_progress", "", 5), later(row(1, "a", completed, "failure", 0)), "in_progress ", false},
		"said twice":                      {row(1, "a", completed, "success", 0), later(row(1, "a", completed, "success", 0)), "completed success", false},
		"a newer status":                  {statusRow(1, "ci", ""), statusRow(2, "ci", "failure"), "completed failure", true},
		"an older status":                 {statusRow(2, "ci", "success"), statusRow(1, "ci", ""), "completed success", false},
	} {
		t.Run(name, func(t *testing.T) {
			before := []Row{tc.have}
			after, changed := Merge(before, tc.ev)
			if len(after) != 1 || after[0].Status+" "+after[0].Conclusion != tc.want || changed != tc.changed {
				t.Errorf("got %+v, changed %v", after, changed)
			}
			if before[0] != tc.have {
				t.Error("the rows given were changed")
			}
		})
	}
	rows, changed := Merge(nil, row(1, "a", "queued", "", 0))
	if !changed || len(rows) != 1 {
		t.Errorf("got %v", rows)
	}
	for i := range MaxRows + 10 {
		r := row(int64(i+10), "x", "queued", "", 0)
		r.At = noon.Add(time.Duration(i+1) * time.Second)
		rows, _ = Merge(rows, r)
	}
	if len(rows) != MaxRows || rows[len(rows)-1].ID != MaxRows+19 || rows[0].ID != 20 {
		t.Errorf("%d rows, from %d to %d", len(rows), rows[0].ID, rows[len(rows)-1].ID)
	}
}

func TestWorth(t *testing.T) {
	green, red, open := row(1, "a", completed, "success", 0), row(1, "a", completed, "failure", 0), row(1, "a", "in_progress", "", 0)
	other, otherOpen := row(2, "b", completed, "success", 0), row(2, "b", "queued", "", -1)
	redo := row(3, "a", completed, "success", 9)
	for name, tc := range map[string]struct {
		before, after []Row
		want          bool
	}{
		"nothing":                         {nil, nil, false},
		"the same":                        {[]Row{green}, []Row{green}, false},
		"one begins":                      {nil, []Row{open}, false},
		"one of two ends well":            {[]Row{open, otherOpen}, []Row{green, otherOpen}, false},
		"one of two fails":                {[]Row{open, otherOpen}, []Row{red, otherOpen}, true},
		"the last one ends":               {[]Row{green, otherOpen}, []Row{green, other}, true},
		"a re-run of what failed begins":  {[]Row{red}, []Row{open}, true},
		"a re-run makes the failure old":  {[]Row{red, otherOpen}, []Row{red, redo, otherOpen}, true},
		"case-103 a conclusion not known": {[]Row{open, otherOpen}, []Row{row(1, "a", completed, "foo", 0), otherOpen}, true},
		"case-110 a status fails":         {[]Row{green, statusRow(1, "ci", ""), otherOpen}, []Row{green, statusRow(2, "ci", "error"), otherOpen}, true},
		"another head has nothing open":   {[]Row{open}, nil, true},
		"heard of again, nothing is new":  {[]Row{green}, []Row{func() Row { r := green; r.At = noon.Add(time.Hour); return r }()}, false},
	} {
		if got := Worth(tc.before, tc.after); got != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
