package session

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/review/publish"
)

const (
	headA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	headB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func ownRun(id int64, name, external, conclusion string) forge.Check {
	c := forge.Check{ID: id, Name: name, ExternalID: external, Status: "completed", Conclusion: conclusion}
	if conclusion == "" {
		c.Status = "in_progress"
	}
	return c
}

func TestLook(t *testing.T) {
	known := Behind{Indexed: true, HeadSHA: headA, BaseRef: "main"}
	with := func(f func(*Behind)) Behind {
		b := known
		f(&b)
		return b
	}
	green := ownRun(5, publish.CheckName, "7:main:s1", "success")
	for name, tc := range map[string]struct {
		base   string // main when empty
		own    []forge.Check
		change func(*forge.OpenPull)
		behind Behind
		want   Reason // empty: current
	}{
		"green":                   {own: []forge.Check{green}, behind: known},
		"green, never indexed":    {own: []forge.Check{green}},
		"no check":                {behind: known, want: FoundNone},
		"no check, at work":       {behind: with(func(b *Behind) { b.Working = true })},
		"case 55: never seen":     {want: FoundNone},
		"the informing one alone": {own: []forge.Check{ownRun(1, publish.ReviewName, "7:main:s1", "neutral")}, behind: known, want: FoundNone},
		"another pull's":          {own: []forge.Check{ownRun(5, publish.CheckName, "8:main:s1", "success")}, behind: known, want: FoundOther},
		"a longer number":         {own: []forge.Check{ownRun(5, publish.CheckName, "77:main:s1", "success")}, behind: known, want: FoundOther},
		"another base's":          {own: []forge.Check{ownRun(5, publish.CheckName, "7:dev:s1", "success")}, behind: known, want: FoundOther},
		"a longer base":           {own: []forge.Check{ownRun(5, publish.CheckName, "7:main2:s1", "success")}, behind: known, want: FoundOther},
		"no external id":          {own: []forge.Check{ownRun(5, publish.CheckName, "", "success")}, behind: known, want: FoundOther},
		"the newest decides":      {own: []forge.Check{green, ownRun(6, publish.CheckName, "8:main:s1", "success")}, behind: known, want: FoundOther},
		"an older foreign one":    {own: []forge.Check{ownRun(4, publish.CheckName, "8:main:s1", "success"), green}, behind: known},
		"shared, and known to speak": {own: []forge.Check{ownRun(5, publish.CheckName, "8:main:s1", "success")},
			behind: with(func(b *Behind) { b.Spoken = []Spoken{{headA, publish.CheckName, 5}} })},
		"shared, another run": {own: []forge.Check{ownRun(6, publish.CheckName, "8:main:s1", "success")},
			behind: with(func(b *Behind) { b.Spoken = []Spoken{{headA, publish.CheckName, 5}} }), want: FoundOther},
		"shared, retargeted since": {own: []forge.Check{ownRun(5, publish.CheckName, "8:main:s1", "success")},
			behind: with(func(b *Behind) { b.BaseRef, b.Spoken = "dev", []Spoken{{headA, publish.CheckName, 5}} }), want: FoundOther},
		"case 76: in progress, nobody at work":           {own: []forge.Check{ownRun(5, publish.CheckName, "7:main:s1", "")}, behind: known, want: FoundStuck},
		"in progress, at work":                           {own: []forge.Check{ownRun(5, publish.CheckName, "7:main:s1", "")}, behind: with(func(b *Behind) { b.Working = true })},
		"case 55: waits for CI":                          {own: []forge.Check{ownRun(5, publish.CheckName, "7:main:s1", "")}, behind: with(func(b *Behind) { b.Waits = true }), want: FoundCI},
		"red by CI":                                      {own: []forge.Check{ownRun(5, publish.CheckName, "7:main:s1", "failure")}, behind: with(func(b *Behind) { b.Waits = true }), want: FoundCI},
		"red by itself":                                  {own: []forge.Check{ownRun(5, publish.CheckName, "7:main:s1", "failure")}, behind: known, change: func(o *forge.OpenPull) { o.Red = true }},
		"given up":                                       {own: []forge.Check{ownRun(5, publish.CheckName, "7:main:s1", "action_required")}, behind: known, change: func(o *forge.OpenPull) { o.Red = true }},
		"green over red":                                 {own: []forge.Check{green}, behind: known, change: func(o *forge.OpenPull) { o.Red = true }, want: FoundCI},
		"cancelled, and open again":                      {own: []forge.Check{ownRun(5, publish.CheckName, "7:main:s1", "cancelled")}, behind: known, want: FoundNone},
		"ready for review, unheard":                      {own: []forge.Check{ownRun(5, publish.CheckName, "7:main:s1", "action_required")}, behind: with(func(b *Behind) { b.Draft = true }), want: FoundChanged},
		"GitHub is behind":                               {change: func(o *forge.OpenPull) { o.Unread = true }, behind: known},
		"advisory":                                       {base: "dev", own: []forge.Check{ownRun(5, publish.AdvisoryName, "7:dev:s1", "success")}},
		"advisory beside another's":                      {base: "dev", own: []forge.Check{ownRun(6, publish.CheckName, "8:main:s2", "success"), ownRun(5, publish.AdvisoryName, "7:dev:s1", "success")}},
		"gated, not the default branch":                  {base: "dev", own: []forge.Check{ownRun(5, publish.CheckName, "7:dev:s1", "success")}},
		"advisory only, retargeted at the default":       {own: []forge.Check{ownRun(5, publish.AdvisoryName, "7:main:s1", "success")}, behind: known, want: FoundNone},
		"both of another pull, not the default branch":   {base: "dev", own: []forge.Check{ownRun(6, publish.CheckName, "8:dev:s2", "success")}, want: FoundOther},
		"another commit was evaluated, the run is right": {own: []forge.Check{green}, behind: with(func(b *Behind) { b.HeadSHA = headB }), want: FoundChanged},
	} {
		o := forge.OpenPull{Number: 7, HeadSHA: headA, BaseRef: "main", Own: tc.own}
		if tc.base != "" {
			o.BaseRef = tc.base
		}
		if tc.change != nil {
			tc.change(&o)
		}
		got, found := Look(o, "main", tc.behind)
		if got != tc.want || found != (tc.want != "") {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}

// Whatever a list shows: a check that is taken for current names this pull request
// and its base, or is known to speak for it; and the order of the list says nothing.
func TestLookIsSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := forge.OpenPull{Number: rapid.IntRange(1, 3).Draw(t, "number"), HeadSHA: headA, BaseRef: rapid.SampledFrom([]string{"main", "dev"}).Draw(t, "base"), Red: rapid.Bool().Draw(t, "red")}
		for i := range rapid.IntRange(0, 4).Draw(t, "runs") {
			o.Own = append(o.Own, ownRun(int64(i+1), rapid.SampledFrom(publish.OwnNames()).Draw(t, "name"),
				rapid.SampledFrom([]string{"", "1:main:s", "2:main:s", "3:dev:s", "1:dev:s", ":", "11:main:s"}).Draw(t, "external"),
				rapid.SampledFrom([]string{"", "success", "failure", "neutral", "cancelled", "action_required"}).Draw(t, "conclusion")))
		}
		reason, found := Look(o, "main", Behind{})
		turned := o
		turned.Own = nil
		for i := range o.Own {
			turned.Own = append(turned.Own, o.Own[len(o.Own)-1-i])
		}
		if again, _ := Look(turned, "main", Behind{}); again != reason || seenOf(reason, turned) != seenOf(reason, o) {
			t.Fatalf("got %q, turned around %q", reason, again)
		}
		if found {
			return
		}
		named := false
		for _, run := range o.Own {
			named = named || strings.HasPrefix(run.ExternalID, string(rune('0'+o.Number))+":"+o.BaseRef+":") && run.Status == "completed" && run.Conclusion != "cancelled"
		}
		if !named {
			t.Fatalf("current, although nothing names it: %+v", o)
		}
	})
}
