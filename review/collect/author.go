package collect

import (
	"context"

	"github.com/countersign/countersign/review/forge"
	"github.com/countersign/countersign/risk"
)

// ghost stands for an account that is gone.
const ghost = "ghost"

// Author says whether the pull request's author is new here, and asks once what a
// newcomer may do. Nothing hangs on the rights of others, so no call is spent on
// them. What could not be established is unknown. An error means that asking again
// may be answered, and that nothing should be concluded until then.
//
// An App's account is proof of automation, since only GitHub makes them; its
// rights are those of its installation, which nobody can ask for.
func Author(ctx context.Context, people forge.PeopleReader, pull forge.Pull) (risk.Author, error) {
	a := pull.Author
	if a.Bot {
		return risk.Author{VerifiedAutomation: risk.Yes}, nil
	}
	if a.Login == "" || (a.ID == 0 && a.Login == ghost) {
		return risk.Author{}, nil
	}
	out := risk.Author{VerifiedAutomation: risk.No}
	if isNew, known := pull.Association.New(); known && !isNew {
		out.FirstContribution = risk.No
		return out, nil
	} else if known {
		out.FirstContribution = risk.Yes
	}
	p, err := people.Permission(ctx, pull.Ref.Repo, a.Login)
	switch {
	case mendable(err):
		return risk.Author{}, err
	case err != nil:
		return out, nil
	}
	out.Write = risk.No
	if p.CanWrite() {
		out.Write = risk.Yes
	}
	return out, nil
}
