package handlers

import "strings"

// readCheck routes what other Apps' checks report, and the buttons of our own.
// What our own checks report is left out: we wrote it, and it would wake us
// after every publication.
func (p *Parser) readCheck(e *Event, v []value) (Route, error) {
	if err := needRepo(e); err != nil {
		return Route{}, err
	}
	e.HeadSHA = v[slotCheckHead].text(64)
	if err := needSHA(e.HeadSHA, e.Event+".head_sha"); err != nil {
		return Route{}, err
	}
	c := &CheckEvent{
		Kind:           e.Event,
		ID:             v[slotCheckID].integer(),
		Name:           v[slotCheckName].text(maxField),
		AppID:          v[slotCheckAppID].integer(),
		App:            v[slotCheckApp].text(maxField),
		SuiteID:        v[slotCheckSuite].integer(),
		Status:         lower(v[slotCheckStatus].text(64)),
		Conclusion:     lower(v[slotCheckConclusion].text(64)),
		ExternalID:     v[slotCheckExternal].text(maxField),
		StartedAt:      v[slotCheckStarted].when(),
		CompletedAt:    v[slotCheckCompleted].when(),
		URL:            v[slotCheckURL].text(maxField),
		HeadBranchNull: v[slotCheckBranch].isNull(),
		Requested:      v[slotCheckRequested].text(64),
	}
	c.Pulls = p.pullsOf(v[slotCheckPulls].list, e.Repo.ID)
	c.Ours = c.AppID == p.ownAppID
	e.Check = c
	if e.Event == "check_suite" {
		c.SuiteID = c.ID
		return routeSuite(e, c), nil
	}
	return routeRun(e, c), nil
}

// pullsOf reads the numbers of a check's pull requests into this repository.
// GitHub names every pull request whose head is on the check's branch, those of
// a fork's branch into the repository it was forked from too: their numbers mean
// something else here.
func (p *Parser) pullsOf(elements [][]byte, repoID int64) []int {
	var out []int
	for _, raw := range elements {
		var v [slotNamedCount]value
		if scan(raw, p.named, v[:]) != nil || v[slotNamedRepo].integer() != repoID {
			continue
		}
		if number := v[slotNamedNumber].integer(); number > 0 && number <= 1<<31-1 {
			out = append(out, int(number))
		}
	}
	return out
}

func routeRun(e *Event, c *CheckEvent) Route {
	head := HeadSubject(e.Repo.ID, e.HeadSHA)
	switch e.Action {
	case "rerequested":
		return routed(head, "check asked for again")
	case "requested_action":
		if !c.Ours {
			return ignored("the button is another App's")
		}
		return routed(head, "button pressed")
	case "created", "completed":
		if c.Ours {
			return ignored("the check is our own")
		}
		return routed(head, "check "+e.Action)
	}
	return ignored("nothing acts on the check_run action " + printable(e.Action))
}

// routeSuite: "re-run all checks" sends a suite's rerequested to every App; only
// the suite of our own is for us (case 71).
func routeSuite(e *Event, c *CheckEvent) Route {
	head := HeadSubject(e.Repo.ID, e.HeadSHA)
	switch {
	case e.Action == "rerequested" && c.Ours:
		return routed(head, "all checks asked for again")
	case e.Action == "completed" && !c.Ours:
		return routed(head, "check suite completed")
	case c.Ours:
		return ignored("the check suite is our own")
	}
	return ignored("nothing acts on this check_suite action of another App: " + printable(e.Action))
}

// readStatus routes commit statuses, the older of GitHub's two systems.
func readStatus(e *Event, v []value) (Route, error) {
	if err := needRepo(e); err != nil {
		return Route{}, err
	}
	e.HeadSHA = v[slotStatusSHA].text(64)
	if err := needSHA(e.HeadSHA, "sha"); err != nil {
		return Route{}, err
	}
	state := lower(v[slotStatusState].text(32))
	c := &CheckEvent{
		Kind:       "status",
		ID:         v[slotStatusID].integer(),
		Name:       v[slotStatusContext].text(maxField),
		App:        e.Sender.Login,
		Status:     "completed",
		Conclusion: state,
		StartedAt:  v[slotStatusCreated].when(),
		URL:        v[slotStatusURL].text(maxField),
	}
	if state == "pending" {
		c.Status, c.Conclusion = "pending", ""
	} else {
		c.CompletedAt = v[slotStatusUpdated].when()
	}
	e.Check = c
	return routed(HeadSubject(e.Repo.ID, e.HeadSHA), "commit status reported"), nil
}

// lower normalises states: webhooks and REST differ in case for some.
func lower(s string) string { return strings.ToLower(s) }
