package collect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/countersign/countersign/review"
	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk"
)

func TestIntent(t *testing.T) {
	const template = "<!-- Thanks for contributing! Please describe\nyour change -->\n## Description\n\n## Checklist\n- [ ] I have added tests\n* [ ] I have read the guide\n---\n![badge](https://x/y.svg)\nhttps://example.com/guide\n"
	for name, tc := range map[string]struct {
		title, body string
		linked      bool
		want        review.Intent
	}{
		"a body":                        {"wip", "Sessions outlive a password change; this ends them.", false, review.IntentStated},
		"a title that says it":          {"End sessions when the password changes", "", false, review.IntentStated},
		"an issue":                      {"wip", "", true, review.IntentStated},
		"nothing":                       {"", "", false, review.IntentMissing},
		"two words":                     {"fix stuff", "as discussed", false, review.IntentMissing},
		"a template nobody filled in":   {"wip", template, false, review.IntentMissing},
		"a template that was filled in": {"wip", strings.Replace(template, "## Checklist", "Ends old sessions early\n## Checklist", 1), false, review.IntentStated},
		"a ticked box speaks":           {"wip", "- [x] I have added tests", false, review.IntentStated},
		"a comment that never ends":     {"wip", "<!-- This is what it is for", false, review.IntentMissing},
		"text around a comment":         {"wip", "Ends <!-- x --> old <!-- y --> sessions", false, review.IntentStated},
		"GitHub's title for an edit":    {"Update docs/index.md", "", false, review.IntentMissing},
		"GitHub's title for a branch":   {"Merge branch 'main' into topic", "", false, review.IntentMissing},
		"an update that says more":      {"Update session.go to end old sessions", "", false, review.IntentStated},
		"an update of something":        {"Update the session timeout", "", false, review.IntentStated},
		"numbers are no words":          {"1 2 3 4", "5 6 7", false, review.IntentMissing},
		"a script without spaces":       {"wip", "パスワード変更時にセッションを終了する", false, review.IntentStated},
		"punctuation":                   {"...", "- - - ??? !!!", false, review.IntentMissing},
		"only verbs":                    {"update", "", false, review.IntentMissing},
		"a link with words":             {"wip", "https://example.com explains what this does", false, review.IntentStated},
	} {
		p := forge.Pull{Title: tc.title, Body: tc.body}
		if tc.linked {
			p.Linked = []forge.Issue{{Number: 1}}
		}
		if got := Intent(p); got != tc.want {
			t.Errorf("%s: got %s", name, got)
		}
	}
	Intent(forge.Pull{Body: strings.Repeat("<!--", 1<<18)})
}

func FuzzIntent(f *testing.F) {
	f.Add("update  ", "<!-- --> [![a](b)](c) - [ ] ")
	f.Fuzz(func(t *testing.T, title, body string) {
		if got := Intent(forge.Pull{Title: title, Body: body}); got != review.IntentStated && got != review.IntentMissing {
			t.Errorf("got %v", got)
		}
	})
}

type people struct {
	p     forge.Permission
	err   error
	calls int
}

func (p *people) Permission(context.Context, forge.Repo, string) (forge.Permission, error) {
	p.calls++
	return p.p, p.err
}

func TestAuthor(t *testing.T) {
	mona, bot, ghost := forge.Account{ID: 1, Login: "mona"}, forge.Account{ID: 2, Login: "renovate[bot]", Bot: true}, forge.Account{Login: "ghost"}
	refused := func(k forge.Kind) people { return people{err: &forge.Error{Kind: k, Op: "read permission"}} }
	for name, tc := range map[string]struct {
		account forge.Account
		people  people
		want    risk.Author
		calls   int
		failed  bool
	}{
		"a writer":          {mona, people{p: forge.PermissionWrite}, risk.Author{Write: risk.Yes, VerifiedAutomation: risk.No}, 1, false},
		"a reader":          {mona, people{p: forge.PermissionTriage}, risk.Author{Write: risk.No, VerifiedAutomation: risk.No}, 1, false},
		"nobody can tell":   {mona, people{err: errors.New("no")}, risk.Author{VerifiedAutomation: risk.No}, 1, false},
		"not there":         {mona, refused(forge.KindNotFound), risk.Author{VerifiedAutomation: risk.No}, 1, false},
		"not ours to ask":   {mona, refused(forge.KindForbidden), risk.Author{VerifiedAutomation: risk.No}, 1, false},
		"a new permission":  {mona, refused(forge.KindMalformed), risk.Author{VerifiedAutomation: risk.No}, 1, false},
		"GitHub is down":    {mona, refused(forge.KindUnavailable), risk.Author{}, 1, true},
		"rate limited":      {mona, refused(forge.KindRateLimited), risk.Author{}, 1, true},
		"suspended":         {mona, refused(forge.KindSuspended), risk.Author{}, 1, true},
		"stopping":          {mona, people{err: fmt.Errorf("read: %w", context.Canceled)}, risk.Author{}, 1, true},
		"an App":            {bot, people{}, risk.Author{VerifiedAutomation: risk.Yes}, 0, false},
		"a deleted account": {ghost, people{}, risk.Author{}, 0, false},
	} {
		got, err := Author(t.Context(), &tc.people, forge.Pull{Author: tc.account})
		if got != tc.want || tc.people.calls != tc.calls || (err != nil) != tc.failed {
			t.Errorf("%s: got %+v, %v after %d calls", name, got, err, tc.people.calls)
		}
	}
	for association, want := range map[forge.Association]risk.Tri{
		"OWNER": risk.No, "MEMBER": risk.No, "COLLABORATOR": risk.No, "CONTRIBUTOR": risk.No,
		"FIRST_TIMER": risk.Yes, "FIRST_TIME_CONTRIBUTOR": risk.Yes, "NONE": risk.Yes, "MANNEQUIN": risk.Unknown, "": risk.Unknown,
	} {
		who := people{p: forge.PermissionRead}
		got, err := Author(t.Context(), &who, forge.Pull{Author: mona, Association: association})
		if err != nil || got.FirstContribution != want || (who.calls == 0) != (want == risk.No) || (want == risk.Yes && got.Write != risk.No) {
			t.Errorf("%q: %+v, %v after %d calls", association, got, err, who.calls)
		}
	}
}
