package trail_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/countersign/countersign/review/trail"
)

func fixedIDs() trail.NewID { return trail.NewIDs(strings.NewReader(strings.Repeat("\x01", 4096))) }

func TestSealContinuesTheChain(t *testing.T) {
	chain := trail.PullChain(42, 7)
	drafts := []trail.Draft{draft(trail.TypeRunStart, "s", `{"a":1}`), draft(trail.TypePublish, "s", "")}
	records, err := trail.Seal(chain, drafts, 3, "feed", fixedIDs(), at(), "1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != 2 || records[0].Seq != 4 || records[1].Seq != 5 {
		t.Fatalf("records do not follow row 3: %+v", records)
	}
	if records[0].PrevHash != "feed" || records[1].PrevHash != records[0].Hash {
		t.Errorf("hashes are not linked: %+v", records)
	}
	for _, r := range records {
		if r.Hash != trail.HashOf(r) || len(r.Hash) != trail.HashLen {
			t.Errorf("row %d: hash %q is not that of its contents", r.Seq, r.Hash)
		}
		if r.RepoID != 42 || r.Pull != 7 {
			t.Errorf("row %d: the chain's repository and pull request were not filled in: %+v", r.Seq, r)
		}
		if r.TS.Nanosecond()%1000 != 0 {
			t.Errorf("row %d: ts %v has more than microseconds, which a database would drop", r.Seq, r.TS)
		}
	}
	if records[0].ID >= records[1].ID {
		t.Errorf("ids do not grow: %s, %s", records[0].ID, records[1].ID)
	}
	if string(records[1].Body) != "{}" {
		t.Errorf("an empty body became %q, want {}", records[1].Body)
	}
}

func TestSealRefuses(t *testing.T) {
	good := draft(trail.TypeRunStart, "s", `{}`)
	with := func(change func(*trail.Draft)) trail.Draft {
		d := good
		change(&d)
		return d
	}
	tests := []struct {
		name  string
		chain trail.Chain
		draft trail.Draft
		want  string
	}{
		{"unknown type", trail.RepoChain(1), with(func(d *trail.Draft) { d.Type = "gossip" }), "type is not one"},
		{"no phase", trail.RepoChain(1), with(func(d *trail.Draft) { d.Phase = "" }), "phase is"},
		{"phase G9", trail.RepoChain(1), with(func(d *trail.Draft) { d.Phase = "G9" }), "phase is"},
		{"nobody", trail.RepoChain(1), with(func(d *trail.Draft) { d.Actor = "" }), "actor is empty"},
		{"another repository", trail.RepoChain(1), with(func(d *trail.Draft) { d.RepoID = 2 }), "repo_id is 2"},
		{"another pull request", trail.PullChain(1, 3), with(func(d *trail.Draft) { d.Pull = 4 }), "pull is 4"},
		{"broken body", trail.RepoChain(1), with(func(d *trail.Draft) { d.Body = []byte(`{"a":`) }), "body is not valid JSON"},
		{"two values", trail.RepoChain(1), with(func(d *trail.Draft) { d.Body = []byte(`{} {}`) }), "body is not valid JSON"},
		{"body in Latin-1", trail.RepoChain(1), with(func(d *trail.Draft) { d.Body = []byte("\"\xe9\"") }), "body is not valid JSON"},
		{"NUL in a column", trail.RepoChain(1), with(func(d *trail.Draft) { d.Actor = "a\x00b" }), "actor holds a NUL"},
		{"broken UTF-8 in a column", trail.RepoChain(1), with(func(d *trail.Draft) { d.Repo = "\xff" }), "repo is not valid UTF-8"},
		{"long column", trail.RepoChain(1), with(func(d *trail.Draft) { d.PlanID = strings.Repeat("x", trail.MaxColumn+1) }), "plan_id has 513 bytes"},
		{"no chain", "", good, "chain key"},
		{"another spelling of a chain", "repo:01", good, "chain key"},
		{"a chain of nothing", "team:1", good, "chain key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			records, err := trail.Seal(tt.chain, []trail.Draft{good, tt.draft}, 0, "", fixedIDs(), at(), "1")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one that says %q", err, tt.want)
			}
			if records != nil {
				t.Errorf("%d records were sealed beside the refused one", len(records))
			}
		})
	}
}

func TestSealBoundsTheBody(t *testing.T) {
	fits := `"` + strings.Repeat("x", trail.MaxBody-2) + `"`
	if _, err := trail.Seal(trail.RepoChain(1), []trail.Draft{draft(trail.TypeDelivery, "", fits)}, 0, "", fixedIDs(), at(), "1"); err != nil {
		t.Errorf("a body of %d bytes was refused: %v", len(fits), err)
	}
	over := fits[:1] + "x" + fits[1:]
	_, err := trail.Seal(trail.RepoChain(1), []trail.Draft{draft(trail.TypeDelivery, "", over)}, 0, "", fixedIDs(), at(), "1")
	var large *trail.TooLargeError
	if !errors.As(err, &large) || large.Size != len(over) || large.Limit != trail.MaxBody {
		t.Errorf("error = %v, want a TooLargeError with size %d", err, len(over))
	}
}

// The encoding is a promise to whoever verifies later: this hash never changes.
func TestHashIsPinned(t *testing.T) {
	r := trail.Record{
		ID: "01J00000000000000000000000", Chain: trail.PullChain(42, 7), Seq: 3,
		TS: time.UnixMicro(1_796_061_600_123_456).UTC(), PlanID: "p", SessionID: "s", Repo: "acme/api",
		RepoID: 42, Pull: 7, HeadSHA: "3f2a9c1", Phase: "G6", Type: trail.TypeGateDecision,
		Actor: "countersign", PolicyRevision: "8c1f02d", AppVersion: "1.0.0",
		Body: []byte(`{"b":1,"a":2}`), PrevHash: "feed",
	}
	const want = "fcb4c8ff9c2b9284ee1e142b090e99ae0795bb476ffdcb023f2c1b14ccb8608f"
	if got := trail.HashOf(r); got != want {
		t.Errorf("hash = %s, want %s: existing trails would no longer verify", got, want)
	}
}

// Every column counts, and none can stand in for another.
func TestHashCoversEveryColumn(t *testing.T) {
	base := trail.Record{}
	seen := map[string]string{trail.HashOf(base): "nothing"}
	v := reflect.ValueOf(&base).Elem()
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		r := base
		f := reflect.ValueOf(&r).Elem().Field(i)
		switch {
		case name == "TS":
			r.TS = time.UnixMicro(1)
		case f.Kind() == reflect.String:
			f.SetString("x")
		case f.CanInt():
			f.SetInt(1)
		default:
			f.SetBytes([]byte("x"))
		}
		h := trail.HashOf(r)
		if name == "Hash" {
			if h != trail.HashOf(base) {
				t.Error("the hash covers itself")
			}
			continue
		}
		if other, ok := seen[h]; ok {
			t.Errorf("changing %s gives the same hash as changing %s", name, other)
		}
		seen[h] = name
	}
	if len(seen) != v.NumField() {
		t.Errorf("%d hashes for %d columns", len(seen), v.NumField())
	}
}

// FuzzHashInjective moves bytes between neighbouring columns: two records have
// one hash only when they are one record.
func FuzzHashInjective(f *testing.F) {
	f.Add("ab", "", "c", int64(1), "a", "b", "c", int64(1))
	f.Add("", "\x00\x00\x00\x00\x00\x00\x00\x01x", "", int64(0), "x", "", "", int64(0))
	f.Add("p", "s", "{}", int64(258), "p", "s", "{}", int64(513))
	f.Fuzz(func(t *testing.T, plan1, session1, body1 string, n1 int64, plan2, session2, body2 string, n2 int64) {
		a := trail.Record{PlanID: plan1, SessionID: session1, Body: []byte(body1), Seq: n1, RepoID: n2}
		b := trail.Record{PlanID: plan2, SessionID: session2, Body: []byte(body2), Seq: n2, RepoID: n1}
		same := plan1 == plan2 && session1 == session2 && body1 == body2 && n1 == n2
		if got := trail.HashOf(a) == trail.HashOf(b); got != same {
			t.Errorf("equal hashes: %v, equal records: %v\n%+v\n%+v", got, same, a, b)
		}
	})
}

func TestIDsGrowWhateverTheClockDoes(t *testing.T) {
	ids := trail.NewIDs(strings.NewReader(strings.Repeat("\x07", 4096)))
	last := ""
	for _, ts := range []time.Time{at(), at().Add(-time.Hour), at(), at().Add(time.Millisecond), at().Add(-time.Minute)} {
		id, err := ids(ts)
		if err != nil {
			t.Fatal(err)
		}
		if id <= last {
			t.Errorf("id %s at %v is not greater than %s", id, ts, last)
		}
		last = id
	}
}

func TestBoundCountsWhatItLeavesOut(t *testing.T) {
	for _, tt := range []struct{ have, limit, kept, left int }{{0, 3, 0, 0}, {3, 3, 3, 0}, {4, 3, 3, 1}, {4, 0, 0, 4}, {4, -1, 0, 4}} {
		kept, left := trail.Bound(make([]int, tt.have), tt.limit)
		if len(kept) != tt.kept || left != tt.left {
			t.Errorf("Bound(%d entries, %d) = %d kept, %d left out, want %d and %d", tt.have, tt.limit, len(kept), left, tt.kept, tt.left)
		}
	}
}
