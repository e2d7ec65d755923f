package publish

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/countersign/countersign/review/forge"
)

// wanted is what the check should show, rendered once.
type wanted struct {
	view               View // the worst one
	status, conclusion string
	title              string
	// text is the summary when the first so many of the annotations are on their
	// lines: what is not marked has to be said in it.
	text   func(marked int) string
	digest string
	// annotations are the findings on their lines, worst first, marks their set. They
	// are known where marked says so: any other write leaves the run with those it has.
	annotations []forge.Annotation
	marks       string
	marked      bool
}

// want renders what the check of a name shows for the views of its head.
func want(name string, views []View) wanted {
	switch {
	case judges(name):
		return wantDecision(Join(views))
	case name == ReviewName:
		return wantReview(views)
	}
	return wantCoverage(views)
}

// wantDecision is a check that judges. It bears no annotations: a changed set would
// be a new run of the name that branches require.
func wantDecision(j Joined) wanted {
	summary := j.Text()
	w := wanted{view: j.Worst, title: j.Title(), text: func(int) string { return summary }}
	w.status, w.conclusion = j.Conclusion()
	w.digest = digestOf(w.status, w.conclusion, w.title)
	return w
}

// digestOf identifies what people see at a glance; the text below it may change
// without a write.
func digestOf(status, conclusion, title string) string {
	sum := sha256.Sum256([]byte(status + "\x00" + conclusion + "\x00" + title))
	return hex.EncodeToString(sum[:])
}

// checkWrite is the whole state of the run: a write that changed only a part would
// depend on what was there.
func checkWrite(p Publication, w wanted, marked int) forge.CheckWrite {
	return forge.CheckWrite{
		Name:       p.Key.Name,
		HeadSHA:    p.Key.HeadSHA,
		ExternalID: p.ExternalID,
		DetailsURL: detailsURL(w.view),
		Status:     w.status,
		Conclusion: w.conclusion,
		Title:      clip(w.title, MaxTitleBytes),
		Summary:    Fit(w.text(marked), MaxOutputBytes, ""),
		StartedAt:  p.StartedAt,
	}
}

func detailsURL(v View) string {
	if hostOf(v.RecapURL) == "" {
		return ""
	}
	return v.RecapURL
}

// minimal is the same state with hardly any text, for a forge that refused the
// text: the conclusion must not depend on it (case 31).
func minimal(w forge.CheckWrite) forge.CheckWrite {
	w.Title = strings.ReplaceAll(capital(w.Status), "_", " ")
	if w.Conclusion != "" {
		w.Title = strings.ReplaceAll(capital(w.Conclusion), "_", " ")
	}
	w.Summary = "The details could not be shown here: GitHub refused the text. The conclusion stands; the details are in the trail."
	w.Text, w.DetailsURL, w.Annotations, w.Actions = "", "", nil, nil
	return w
}

// work is one publication at work: it holds the key.
type work struct {
	*Publisher
	w   forge.CheckWriter
	row Publication
	res Result
	// session is the one that asked for this publication; the view that is shown
	// may be another's.
	session string
}

// call runs one request that must end before the claim does, so that no write of
// ours is under way when somebody else may begin.
func (k *work) call(ctx context.Context, f func(context.Context) error) error {
	left := k.row.LeaseUntil.Sub(k.now()) - leaseMargin
	if left <= 0 {
		return fmt.Errorf("publish %s on %s: %w", k.row.Key.Name, short(k.row.Key.HeadSHA), ErrClaimLost)
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	k.res.Calls++
	return f(ctx)
}

// save writes the row and prolongs the claim.
func (k *work) save(ctx context.Context) error {
	k.row.UpdatedAt = k.now()
	k.row.LeaseUntil = k.row.UpdatedAt.Add(leaseFor)
	if err := k.store.SavePublication(ctx, k.row); err != nil {
		return fmt.Errorf("publish %s on %s: %w", k.row.Key.Name, short(k.row.Key.HeadSHA), err)
	}
	return nil
}

// release gives the key back, also when the caller's context has ended: nobody
// should wait for a claim that is not used.
func (k *work) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseMargin)
	defer cancel()
	k.row.UpdatedAt = k.now()
	k.row.LeaseUntil = time.Time{}
	err := k.store.SavePublication(ctx, k.row)
	if errors.Is(err, ErrClaimLost) {
		return nil // it ended by itself, and everything before was saved
	}
	return err
}

// put sends one state of a run, a new one where id is 0, and answers which it is.
func (k *work) put(ctx context.Context, id int64, cw forge.CheckWrite) (int64, error) {
	if err := allowedEnd(k.row.Key.Name, cw.Conclusion); err != nil {
		return id, err
	}
	err := k.call(ctx, func(ctx context.Context) error {
		if id != 0 {
			return k.w.UpdateCheck(ctx, k.row.Repo, id, cw)
		}
		created, err := k.w.CreateCheck(ctx, k.row.Repo, cw)
		id = created
		return err
	})
	return id, err
}

// write sends the state. Where the forge refuses it, the end of it is sent once more
// without annotations, since the text can list the findings too, and then without its
// text. It answers the run and whether the state went out as it was meant.
func (k *work) write(ctx context.Context, id int64, s step) (run int64, whole bool, err error) {
	tries := []forge.CheckWrite{s.write}
	if len(s.write.Annotations) > 0 {
		tries = append(tries, s.plain)
	}
	tries = append(tries, minimal(s.plain))
	var refused error
	for i, try := range tries {
		run, err = k.put(ctx, id, try)
		switch {
		case err == nil:
			k.res.Minimal = i > 0 && i == len(tries)-1
			k.res.Annotated += len(try.Annotations)
			return run, i == 0, nil
		case refused != nil:
			// The last refusal is the one that says what may have happened.
			refused = fmt.Errorf("%w (before that, with more text: %s)", err, refused.Error())
		default:
			refused = err
		}
		if !forge.IsKind(err, forge.KindInvalid) {
			break
		}
	}
	return id, false, refused
}

// create begins a run. The intention is stored first: whoever comes after a crash
// looks for the run before making another.
func (k *work) create(ctx context.Context, w wanted) error {
	if k.row.Creating {
		k.row.Suspect = true // the one that was not found may still be on its way
	} else {
		k.row.Creating = true
		k.row.PriorRunID = k.row.CheckRunID
		k.row.CheckRunID = 0
		k.row.ExternalID, k.row.SessionID = w.view.ExternalID(), w.view.SessionID
		k.row.StartedAt = k.now()
	}
	k.row.Intended = w.digest
	s := stepOf(k.row, w, borne{})
	k.row.Annotating = s.after()
	if err := k.save(ctx); err != nil {
		return err
	}
	id, whole, err := k.write(ctx, 0, s)
	switch {
	case err != nil && mayHaveHappened(err):
		k.row.Suspect = true
		return err
	case err != nil:
		k.forgetIntention()
		return err
	}
	k.row.CheckRunID = id
	k.res.Created = true
	k.row.Creating, k.row.PriorRunID, k.row.Annotated = false, 0, ""
	if k.took(w, s, whole) {
		return nil
	}
	return k.patch(ctx, w)
}

// forgetIntention takes back a POST that did not happen.
func (k *work) forgetIntention() {
	k.row.CheckRunID = k.row.PriorRunID
	k.row.Creating, k.row.PriorRunID, k.row.Intended, k.row.Annotating = false, 0, "", ""
}

// mayHaveHappened reports whether a request that failed may still have had its
// effect.
func mayHaveHappened(err error) bool {
	var fe *forge.Error
	return !errors.As(err, &fe) || fe.Kind == forge.KindUnavailable || fe.Kind == forge.KindMalformed
}

// patch changes the known run, in as many writes as its annotations take. Each is
// stored before it is sent, so that whoever goes on after a crash knows which of them
// the run may bear.
func (k *work) patch(ctx context.Context, w wanted) error {
	k.row.ExternalID, k.row.SessionID = w.view.ExternalID(), w.view.SessionID
	for {
		k.row.Intended = w.digest
		s := stepOf(k.row, w, parseBorne(k.row.Annotated))
		if s.sends() {
			k.row.Annotating = s.after()
		}
		if err := k.save(ctx); err != nil {
			return err
		}
		_, whole, err := k.write(ctx, k.row.CheckRunID, s)
		if err != nil {
			if s.sends() && !mayHaveHappened(err) {
				k.row.Annotating = ""
			}
			return err
		}
		k.res.Patched = true
		if k.took(w, s, whole) {
			return nil
		}
	}
}

// confirm takes into the row what the forge accepted.
func (k *work) confirm(w wanted) {
	k.row.Intended = ""
	k.row.Status, k.row.Conclusion, k.row.Title, k.row.Digest = w.status, w.conclusion, w.title, w.digest
}

// adopt looks for the run of an intended POST whose answer nobody kept. It answers
// false when there is none. The newest of them is the one that the forge counts;
// runs of the same session that the prior one took the place of are older than it,
// and the forge's ids grow.
func (k *work) adopt(ctx context.Context) (bool, error) {
	runs, err := k.ownRuns(ctx)
	if err != nil {
		return false, err
	}
	for _, r := range runs {
		if r.ID > k.row.PriorRunID && r.ExternalID == k.row.ExternalID {
			k.row.CheckRunID = r.ID
			k.res.Adopted = true
			k.row.Annotated = "" // it was the prior one's; a new run begins with none
			k.learnAnnotated(r)
			if err := k.cancelOthers(ctx, runs); err != nil {
				return true, err
			}
			k.row.Creating, k.row.PriorRunID = false, 0
			return true, nil
		}
	}
	return false, nil
}

func (k *work) ownRuns(ctx context.Context) ([]forge.Check, error) {
	var runs []forge.Check
	err := k.call(ctx, func(ctx context.Context) error {
		var err error
		runs, err = k.w.OwnChecks(ctx, k.row.Repo, k.row.Key.HeadSHA, k.row.Key.Name)
		return err
	})
	return runs, err
}

// sweep lists our runs once more when the check ends, where a lost POST may have
// made a second one after we looked.
func (k *work) sweep(ctx context.Context) error {
	if !k.row.Suspect || k.row.Status != statusCompleted {
		return nil
	}
	runs, err := k.ownRuns(ctx)
	if err != nil {
		return err
	}
	if err := k.cancelOthers(ctx, runs); err != nil {
		return err
	}
	k.row.Suspect = false
	return nil
}

// maxCancelled bounds the further runs that one publication ends; the next one
// goes on.
const maxCancelled = 10

// cancelOthers ends the runs of this key besides the known one: those that still
// wait, and those of the same POST, whatever they say.
func (k *work) cancelOthers(ctx context.Context, runs []forge.Check) error {
	for _, r := range runs {
		twin := r.ExternalID == k.row.ExternalID && r.ID != k.row.PriorRunID
		if r.ID == k.row.CheckRunID || (r.Status == statusCompleted && (!twin || endedByUs(r))) {
			continue
		}
		if len(k.res.Cancelled) == maxCancelled {
			return nil
		}
		cw := cancelled(k.row.Key, r.ExternalID, r.StartedAt, "this one was begun twice")
		if _, err := k.put(ctx, r.ID, cw); err != nil {
			return err
		}
		k.res.Cancelled = append(k.res.Cancelled, r.ID)
	}
	return nil
}

// replacedTitle is the title of a run that another one of the same name replaced.
const replacedTitle = "Superseded by a newer run"

// endedByUs: the run was ended in favour of another one already.
func endedByUs(r forge.Check) bool {
	return r.Conclusion == "cancelled" || (r.Conclusion == informs && r.Title == replacedTitle)
}

// cancelled is a run that another one of the same name took the place of.
func cancelled(key Key, externalID string, started time.Time, why string) forge.CheckWrite {
	return forge.CheckWrite{
		Name: key.Name, HeadSHA: key.HeadSHA, ExternalID: externalID, StartedAt: started,
		Status: statusCompleted, Conclusion: givenUp(key.Name),
		Title:   replacedTitle,
		Summary: "**Next:** look at the newest check of this name; " + why + ".\n",
	}
}
