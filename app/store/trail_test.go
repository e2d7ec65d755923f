package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/countersign/countersign/review/trail"
)

func openTrail(t *testing.T) *Store {
	t.Helper()
	return newSpineStore(t, nil)
}

func trailClock() time.Time { return time.Date(2026, 11, 30, 18, 0, 0, 123456789, time.UTC) }

func trailDraft(typ trail.Type, session string) trail.Draft {
	return trail.Draft{SessionID: session, Repo: "acme/api", HeadSHA: "3f2a9c1", Phase: "G6", Type: typ, Actor: "countersign", Body: []byte(`{"b":1, "a":"ü"}`)}
}

// fillTrail writes five rows of one pull request and one of its repository.
func fillTrail(t *testing.T, s *Store) []trail.Record {
	t.Helper()
	log := trail.NewLog(s, "1.0.0", trailClock)
	var out []trail.Record
	for i := range 5 {
		records, err := log.Append(t.Context(), trail.PullChain(42, 7), trailDraft(trail.TypeGateDecision, fmt.Sprint("s", i%2)))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, records...)
	}
	if _, err := log.Append(t.Context(), trail.RepoChain(42), trailDraft(trail.TypeDelivery, "")); err != nil {
		t.Fatal(err)
	}
	return out
}

func trailProblems(t *testing.T, s *Store) []trail.Problem {
	t.Helper()
	report, err := trail.Verify(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return report.Problems
}

func TestTrailRoundTrip(t *testing.T) { onBoth(t, testTrailRoundTrip) }

func testTrailRoundTrip(t *testing.T) {
	s := openTrail(t)
	want := fillTrail(t, s)
	var got []trail.Record
	if err := s.ReadTrail(t.Context(), trail.PullChain(42, 7), func(r trail.Record) error {
		got = append(got, r)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read back\n%+v\nwant\n%+v", got, want)
	}
	if p := trailProblems(t, s); len(p) > 0 {
		t.Errorf("a fresh trail has problems: %v", p)
	}
}

func TestTrailIsReadPageByPageWithoutHoldingTheConnection(t *testing.T) {
	onBoth(t, testTrailIsReadPageByPageWithoutHoldingTheConnection)
}

func testTrailIsReadPageByPageWithoutHoldingTheConnection(t *testing.T) {
	s := openTrail(t)
	log := trail.NewLog(s, "1", trailClock)
	drafts := make([]trail.Draft, 200)
	for i := range drafts {
		drafts[i] = trailDraft(trail.TypeToolUse, "s")
	}
	for range 2 {
		if _, err := log.Append(t.Context(), trail.RepoChain(1), drafts...); err != nil {
			t.Fatal(err)
		}
	}
	stop := errors.New("enough")
	n := 0
	err := s.ReadTrail(t.Context(), trail.RepoChain(1), func(trail.Record) error {
		if n++; n == trailPage+1 {
			// Would deadlock if rows were still open: there is one connection.
			if _, err := s.Chains(t.Context()); err != nil {
				return err
			}
		}
		if n == 300 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 300 {
		t.Errorf("stopped after %d records with %v", n, err)
	}
	if report, err := trail.Verify(t.Context(), s); err != nil || !report.OK() || report.Records != 400 {
		t.Errorf("report = %+v, %v", report, err)
	}
}

func TestTrailRefusesEveryChange(t *testing.T) { onBoth(t, testTrailRefusesEveryChange) }

func testTrailRefusesEveryChange(t *testing.T) {
	columns := strings.Replace(trailColumns, "id,", "'NEW',", 1)
	same := func(seq string) string { return strings.Replace(columns, "seq,", seq+",", 1) }
	statements := []string{
		`UPDATE trail SET body = '{}'`,
		`UPDATE trail SET actor = 'mallory' WHERE seq = 3`,
		`DELETE FROM trail WHERE seq = 5`,
		`DELETE FROM trail`,
		`INSERT INTO trail (` + trailColumns + `) SELECT ` + same("9") + ` FROM trail WHERE seq = 3`,
		`DELETE FROM chains`,
		`UPDATE chains SET hash = 'feed'`,
		`UPDATE chains SET seq = seq - 1`,
		`UPDATE chains SET chain = 'pull:1:1', seq = seq + 1`,
		`INSERT INTO chains (chain, seq, hash) VALUES ('repo:42', 1, 'feed') ON CONFLICT (chain) DO UPDATE SET hash = excluded.hash, seq = chains.seq`,
	}
	before := []string{`SELECT 1`}
	if onPostgres(t) {
		statements = append(statements,
			`TRUNCATE trail`, `TRUNCATE chains`, `TRUNCATE trail, chains CASCADE`,
			`INSERT INTO trail (`+trailColumns+`) SELECT `+trailColumns+` FROM trail WHERE seq = 3 ON CONFLICT (id) DO UPDATE SET actor = 'mallory'`,
			`MERGE INTO trail t USING (SELECT 1) s ON t.seq = 3 WHEN MATCHED THEN DELETE`)
	} else {
		before = []string{"PRAGMA recursive_triggers = 1", "PRAGMA recursive_triggers = 0"}
		statements = append(statements,
			`INSERT OR REPLACE INTO trail (`+trailColumns+`) SELECT `+trailColumns+` FROM trail WHERE seq = 3`,
			`INSERT OR REPLACE INTO trail (`+trailColumns+`) SELECT `+columns+` FROM trail WHERE seq = 3`,
			`INSERT OR IGNORE INTO trail (`+trailColumns+`) SELECT `+same("9")+` FROM trail WHERE seq = 3`,
			`INSERT OR REPLACE INTO trail (rowid, `+trailColumns+`) SELECT 2, `+same("6")+` FROM trail WHERE seq = 3 AND chain LIKE 'pull:%'`,
			`INSERT INTO trail (`+trailColumns+`) SELECT `+trailColumns+` FROM trail WHERE seq = 3 ON CONFLICT (id) DO UPDATE SET actor = 'mallory'`,
			`INSERT OR REPLACE INTO chains (chain, seq, hash) VALUES ('repo:42', 9, 'feed')`)
	}
	for _, first := range before {
		s := openTrail(t)
		want := fillTrail(t, s)
		mustExec(t, s, first)
		for _, q := range statements {
			if _, err := s.db.ExecContext(t.Context(), q); err == nil || !strings.Contains(err.Error(), "append-only") {
				t.Errorf("%s: %s: error = %v, want a refusal", first, q, err)
			}
		}
		var n int
		if err := s.db.QueryRowContext(t.Context(), `SELECT count(*) FROM trail`).Scan(&n); err != nil || n != len(want)+1 {
			t.Errorf("%s: %d rows, %v, want %d", first, n, err, len(want)+1)
		}
		if p := trailProblems(t, s); len(p) > 0 {
			t.Errorf("%s: problems %v", first, p)
		}
	}
}

func mustExec(t *testing.T, s *Store, q string) {
	t.Helper()
	if _, err := s.db.ExecContext(t.Context(), q); err != nil {
		t.Fatalf("%s: %v", q, err)
	}
}

// Whoever can drop triggers can change rows; the chain tells.
func TestTrailTamperingShows(t *testing.T) { onBoth(t, testTrailTamperingShows) }

func testTrailTamperingShows(t *testing.T) {
	const on = ` WHERE chain = 'pull:42:7' AND seq `
	tests := []struct{ name, statement, want string }{
		{"body changed", `UPDATE trail SET body = '{}'` + on + `= 3`, "#3: its contents do not give its hash"},
		{"time changed", `UPDATE trail SET ts = ts + 1` + on + `= 2`, "#2: its contents do not give its hash"},
		{"keys of the body reordered", `UPDATE trail SET body = '{"a":"ü", "b":1}'` + on + `= 2`, "#2: its contents do not give its hash"},
		{"row dropped", `DELETE FROM trail` + on + `= 2`, "#2: row is missing"},
		{"end cut", `DELETE FROM trail` + on + `> 3`, "#4: the chain ends with row 3"},
		{"end cut and head set back", `DELETE FROM trail` + on + `> 3; UPDATE chains SET seq = 4 WHERE chain = 'pull:42:7'`, "#4: the chain ends with row 3"},
		{"rows reordered", `UPDATE trail SET seq = 9` + on + `= 2; UPDATE trail SET seq = 2` + on + `= 3; UPDATE trail SET seq = 3` + on + `= 9`, "#2: does not follow row 1"},
		{"row inserted", `INSERT INTO trail (` + trailColumns + `) SELECT 'X', 'repo:42', 2, ts, '', '', repo, repo_id, 0, '', phase, type, actor, '', '', body, hash, hash FROM trail WHERE chain = 'repo:42'`, "repo:42 #2: its contents"},
		{"chain forgotten", `DELETE FROM chains WHERE chain = 'repo:42'`, "repo:42 #1: the chain has rows, but the chain table does not know it"},
		{"whole chain dropped", `DELETE FROM trail WHERE chain = 'repo:42'`, "repo:42 #1: the chain ends with row 0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := openTrail(t)
			fillTrail(t, s)
			for _, trigger := range []string{"trail_no_update", "trail_no_delete", "trail_only_append", "chains_no_delete", "chains_only_forward"} {
				drop := `DROP TRIGGER ` + trigger
				if table, _, _ := strings.Cut(trigger, "_"); onPostgres(t) {
					drop += ` ON ` + table
				}
				mustExec(t, s, drop)
			}
			mustExec(t, s, tt.statement)
			var found bool
			problems := trailProblems(t, s)
			for _, p := range problems {
				found = found || strings.Contains(p.String(), tt.want)
			}
			if !found {
				t.Errorf("problems = %v, want one that says %q", problems, tt.want)
			}
		})
	}
}

func TestTrailAppendsFromManyWriters(t *testing.T) { onBoth(t, testTrailAppendsFromManyWriters) }

func testTrailAppendsFromManyWriters(t *testing.T) {
	s := openTrail(t)
	logs := []*trail.Log{trail.NewLog(s, "1", trailClock), trail.NewLog(s, "2", trailClock)}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 10 {
				if _, err := logs[w%2].Append(t.Context(), trail.PullChain(1, i%2+1), trailDraft(trail.TypeToolUse, "s"), trailDraft(trail.TypeToolUse, "s")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	report, err := trail.Verify(t.Context(), s)
	if err != nil || !report.OK() || report.Records != 160 || report.Chains != 2 {
		t.Errorf("report = %+v, %v, want 160 sound records in 2 chains", report, err)
	}
}

func TestTrailAppendInsideATransactionThatFails(t *testing.T) {
	onBoth(t, testTrailAppendInsideATransactionThatFails)
}

func testTrailAppendInsideATransactionThatFails(t *testing.T) {
	s := openTrail(t)
	fillTrail(t, s)
	log := trail.NewLog(s, "1", trailClock)
	chain := trail.PullChain(42, 7)
	boom := errors.New("boom")
	err := s.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if _, err := s.AppendTrailTx(ctx, tx, chain, log.Sealer(chain, trailDraft(trail.TypePublish, "s"))); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) {
		t.Fatal(err)
	}
	records, err := log.Append(t.Context(), chain, trailDraft(trail.TypePublish, "s"))
	if err != nil || records[0].Seq != 6 {
		t.Errorf("the next row = %+v, %v, want number 6", records, err)
	}
	if p := trailProblems(t, s); len(p) > 0 {
		t.Errorf("problems %v", p)
	}
}

func TestTrailRefusesASealThatForks(t *testing.T) { onBoth(t, testTrailRefusesASealThatForks) }

func testTrailRefusesASealThatForks(t *testing.T) {
	s := openTrail(t)
	fillTrail(t, s)
	seal := func(int64, string) ([]trail.Record, error) {
		return trail.Seal(trail.PullChain(42, 7), []trail.Draft{trailDraft(trail.TypePublish, "s")}, 2, "feed", trail.NewIDs(strings.NewReader(strings.Repeat("x", 99))), trailClock(), "1")
	}
	if _, err := s.AppendTrail(t.Context(), trail.PullChain(42, 7), seal); err == nil || !strings.Contains(err.Error(), "does not follow row 5") {
		t.Errorf("error = %v, want a refusal", err)
	}
}

func TestTrailFind(t *testing.T) { onBoth(t, testTrailFind) }

func testTrailFind(t *testing.T) {
	s := openTrail(t)
	fillTrail(t, s)
	tests := []struct {
		name string
		q    trail.Query
		want int
	}{
		{"everything", trail.Query{}, 6},
		{"a session", trail.Query{SessionID: "s0"}, 3},
		{"a session's records of a type", trail.Query{SessionID: "s0", Type: trail.TypePublish}, 0},
		{"a pull request", trail.Query{Repo: "acme/api", Pull: 7}, 5},
		{"a repository", trail.Query{Repo: "acme/api"}, 6},
		{"another repository", trail.Query{Repo: "acme/web"}, 0},
		{"a type", trail.Query{Type: trail.TypeDelivery}, 1},
		{"bounded", trail.Query{Limit: 2}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			records, err := s.FindTrail(t.Context(), tt.q)
			if err != nil || len(records) != tt.want {
				t.Errorf("%d records, %v, want %d", len(records), err, tt.want)
			}
			for i := 1; i < len(records); i++ {
				if records[i].ID <= records[i-1].ID {
					t.Error("not oldest first")
				}
			}
		})
	}
	session, err := trail.Rebuild(t.Context(), s, "s0")
	if err != nil || len(session.Records) != 3 || session.Pull != 7 {
		t.Errorf("rebuilt %+v, %v", session, err)
	}
}

// What a hash covers must come back from the database byte for byte.
func TestTrailKeepsEveryByte(t *testing.T) { onBoth(t, testTrailKeepsEveryByte) }

func testTrailKeepsEveryByte(t *testing.T) {
	s := openTrail(t)
	log := trail.NewLog(s, "1", trailClock)
	rapid.Check(t, func(rt *rapid.T) {
		d := trailDraft(trail.TypeToolUse, "s")
		d.Actor = rapid.StringN(1, 20, 200).Filter(func(s string) bool { return !strings.Contains(s, "\x00") }).Draw(rt, "actor")
		d.Body = []byte(fmt.Sprintf(`{"n": %d, "x":%q  }`, rapid.Int64().Draw(rt, "n"), rapid.StringMatching(`[a-zé ]{0,9}`).Draw(rt, "x")))
		records, err := log.Append(t.Context(), trail.RepoChain(5), d)
		if err != nil {
			rt.Fatal(err)
		}
		var last trail.Record
		if err := s.ReadTrail(t.Context(), trail.RepoChain(5), func(r trail.Record) error { last = r; return nil }); err != nil {
			rt.Fatal(err)
		}
		if !reflect.DeepEqual(last, records[0]) {
			rt.Fatalf("read back %+v, want %+v", last, records[0])
		}
	})
	if p := trailProblems(t, s); len(p) > 0 {
		t.Errorf("problems %v", p)
	}
}
