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
	title, summary     string
	digest             string
	// annotations are the findings on their lines, marks their set. They are known of
	// a decided view only: any other leaves the run with those it has.
	annotations []forge.Annotation
	marks       string
	marked      bool
}

func want(j Joined) wanted {
	w := wanted{view: j.Worst, title: j.Title(), summary: j.Text()}
	w.status, w.conclusion = j.Conclusion()
	w.digest = digestOf(w.status, w.conclusion, w.title)
	if w.marked = j.Worst.State == StateDecided; w.marked {
		w.annotations = annotations(j.Worst)
		w.marks = marksOf(w.annotations)
	}
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
func checkWrite(p Publication, w wanted) forge.CheckWrite {
	return forge.CheckWrite{
		Name:       p.Key.Name,
		HeadSHA:    p.Key.HeadSHA,
		ExternalID: p.ExternalID,
		DetailsURL: detailsURL(w.view),
		Status:     w.status,
		Conclusion: w.conclusion,
		Title:      clip(w.title, MaxTitleBytes),
		Summary:    Fit(w.summary, MaxOutputBytes, ""),
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

// write sends the state; once more without its annotations when the forge refuses
// it, since the text lists the findings too, and then without its text.
func (k *work) write(ctx context.Context, w forge.CheckWrite, send func(context.Context, forge.CheckWrite) error) error {
	tries := []forge.CheckWrite{w}
	if len(w.Annotations) > 0 {
		w.Annotations = nil
		tries = append(tries, w)
	}
	tries = append(tries, minimal(w))
	var refused error
	for i, try := range tries {
		err := k.call(ctx, func(ctx context.Context) error { return send(ctx, try) })
		switch {
		case err == nil:
			k.res.Minimal = i > 0 && i == len(tries)-1
			k.res.Annotated = len(try.Annotations)
			return nil
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
	return refused
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
	cw := checkWrite(k.row, w)
	cw.Annotations, k.row.Annotating = w.annotations, w.marks
	if err := k.save(ctx); err != nil {
		return err
	}
	err := k.write(ctx, cw, func(ctx context.Context, cw forge.CheckWrite) error {
		id, err := k.w.CreateCheck(ctx, k.row.Repo, cw)
		if err == nil {
			k.row.CheckRunID = id
		}
		return err
	})
	switch {
	case err != nil && mayHaveHappened(err):
		k.row.Suspect = true
		return err
	case err != nil:
		k.forgetIntention()
		return err
	}
	k.res.Created = true
	k.row.Annotated, k.row.Annotating = k.row.Annotating, ""
	k.confirm(w)
	return nil
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

// patch changes the known run. Annotations go with it only where the run has none.
func (k *work) patch(ctx context.Context, w wanted) error {
	k.row.ExternalID, k.row.SessionID = w.view.ExternalID(), w.view.SessionID
	k.row.Intended = w.digest
	cw := checkWrite(k.row, w)
	sends := w.marks != "" && k.row.Annotated == ""
	if sends {
		cw.Annotations, k.row.Annotating = w.annotations, w.marks
	}
	if err := k.save(ctx); err != nil {
		return err
	}
	err := k.write(ctx, cw, func(ctx context.Context, cw forge.CheckWrite) error {
		return k.w.UpdateCheck(ctx, k.row.Repo, k.row.CheckRunID, cw)
	})
	if sends && (err == nil || !mayHaveHappened(err)) {
		if err == nil {
			// Refused ones count as sent: the same set would be refused again.
			k.row.Annotated = k.row.Annotating
		}
		k.row.Annotating = ""
	}
	if err != nil {
		return err
	}
	k.res.Patched = true
	k.confirm(w)
	return nil
}

// confirm takes into the row what the forge accepted.
func (k *work) confirm(w wanted) {
	k.row.Creating, k.row.PriorRunID, k.row.Intended = false, 0, ""
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
			k.learnAnnotated(r)
			return true, k.cancelOthers(ctx, runs)
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
		if r.ID == k.row.CheckRunID || (r.Status == statusCompleted && (!twin || r.Conclusion == "cancelled")) {
			continue
		}
		if len(k.res.Cancelled) == maxCancelled {
			return nil
		}
		cw := cancelled(k.row.Key, r.ExternalID, r.StartedAt, "this one was begun twice")
		if err := k.call(ctx, func(ctx context.Context) error { return k.w.UpdateCheck(ctx, k.row.Repo, r.ID, cw) }); err != nil {
			return err
		}
		k.res.Cancelled = append(k.res.Cancelled, r.ID)
	}
	return nil
}

// cancelled is a run that another one of the same name took the place of.
func cancelled(key Key, externalID string, started time.Time, why string) forge.CheckWrite {
	return forge.CheckWrite{
		Name: key.Name, HeadSHA: key.HeadSHA, ExternalID: externalID, StartedAt: started,
		Status: statusCompleted, Conclusion: "cancelled",
		Title:   "Superseded by a newer run",
		Summary: "**Next:** look at the newest check of this name; " + why + ".\n",
	}
}
