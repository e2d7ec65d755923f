package handlers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
)

// HookPath is where GitHub is told to deliver.
const HookPath = "/api/github/hook"

// maxGUID bounds a delivery id; GitHub's are UUIDs of 36 characters.
const maxGUID = 64

// retryAfter is what a sender is told to wait when a delivery could not be
// stored, in seconds. GitHub does not redeliver by itself; whoever redelivers by
// hand or by API reads it.
const retryAfter = 10

// Options configure the webhook.
type Options struct {
	// Secrets are one or, while a secret is being replaced, two: a delivery
	// signed with either is authentic. Empty ones are refused: without a secret
	// anyone could deliver.
	Secrets [][]byte
	// OwnAppID is our App's id.
	OwnAppID int64
	// Intake stores deliveries.
	Intake Intake
	// Logger receives a line per accepted or refused delivery.
	Logger zerolog.Logger
	// Observe, when set, is told of every answer: the event that the request's
	// header names, in the sender's words; what became of it, one of Outcomes; and
	// how long that took.
	Observe func(event, outcome string, took time.Duration)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// What becomes of a request to the webhook.
const (
	OutcomeAccepted  = "accepted"   // committed, with its job
	OutcomeRepeated  = "repeated"   // committed before
	OutcomeIgnored   = "ignored"    // authentic, and nothing acts on it
	OutcomePong      = "pong"       // GitHub asked whether we are there
	OutcomeRefused   = "refused"    // not an authentic delivery of ours
	OutcomeNotStored = "not_stored" // the sender has to deliver it again
)

// New returns the webhook's handler, to be mounted at HookPath.
//
// It answers 202 once the delivery and its job are committed, or when nothing
// acts on it, or when it was accepted before; 200 to a ping; 4xx with a sentence
// to what is not a delivery of ours; 503 when it could not be stored.
func New(o Options) (http.Handler, error) {
	if len(o.Secrets) == 0 || len(o.Secrets) > 2 {
		return nil, fmt.Errorf("webhook: %d secrets are set; set one, or two while one replaces the other", len(o.Secrets))
	}
	for i, s := range o.Secrets {
		if len(s) == 0 {
			return nil, fmt.Errorf("webhook: secret %d is empty; set the one that GitHub signs with", i+1)
		}
	}
	if o.Intake == nil {
		return nil, errors.New("webhook: no intake is set")
	}
	parser, err := NewParser(o.OwnAppID)
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	now := o.Now
	if now == nil {
		now = time.Now
	}
	observe := o.Observe
	if observe == nil {
		observe = func(string, string, time.Duration) {}
	}
	return &hook{
		keys:    newKeys(o.Secrets),
		parser:  parser,
		intake:  o.Intake,
		logger:  o.Logger,
		observe: observe,
		now:     now,
		bodies:  newBodies(),
	}, nil
}

type hook struct {
	keys    *keys
	parser  *Parser
	intake  Intake
	logger  zerolog.Logger
	observe func(event, outcome string, took time.Duration)
	now     func() time.Time
	bodies  *bodies
}

// refusal is an answer other than success.
type refusal struct {
	status   int
	sentence string
}

func refuse(status int, sentence string) *refusal { return &refusal{status, sentence} }

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	begun := time.Now() // not h.now: a duration
	outcome := h.serve(w, r)
	h.observe(r.Header.Get("X-GitHub-Event"), outcome, time.Since(begun))
}

func (h *hook) serve(w http.ResponseWriter, r *http.Request) (outcome string) {
	guid, event, no := checkHead(r)
	if no != nil {
		return h.refused(w, r, guid, no)
	}
	body, no := h.bodies.read(w, r)
	if no != nil {
		return h.refused(w, r, guid, no)
	}
	defer body.free()
	if no := h.keys.check(r.Header, body.bytes()); no != nil {
		return h.refused(w, r, guid, no)
	}
	return h.deliver(w, r, guid, event, body.bytes())
}

// deliver handles an authentic delivery.
func (h *hook) deliver(w http.ResponseWriter, r *http.Request, guid, event string, body []byte) (outcome string) {
	e, route, err := h.parser.Parse(event, body)
	switch {
	case err != nil:
		return h.refused(w, r, guid, refuse(http.StatusBadRequest, err.Error()))
	case event == "ping":
		answer(w, http.StatusOK, "pong")
		return OutcomePong
	case route.Ignore != "":
		h.logger.Debug().Str("delivery", guid).Str("event", event).Str("action", e.Action).Msg("delivery ignored: " + route.Ignore)
		answer(w, http.StatusAccepted, "ignored: "+route.Ignore)
		return OutcomeIgnored
	}
	sum := sha256.Sum256(body)
	e.GUID, e.ReceivedAt, e.BodySHA256 = guid, h.now().UTC(), hex.EncodeToString(sum[:])
	return h.accept(w, r, Delivery{Event: e, Subject: route.Subject, Payload: body}, route.Why)
}

func (h *hook) accept(w http.ResponseWriter, r *http.Request, d Delivery, why string) (outcome string) {
	// The sender may hang up after ten seconds; what it delivered is kept all the
	// same (case 54).
	fresh, err := h.intake.Accept(context.WithoutCancel(r.Context()), d)
	if err != nil {
		h.logger.Error().Err(err).Str("delivery", d.Event.GUID).Str("event", d.Event.Event).Msg("delivery could not be stored")
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		answer(w, http.StatusServiceUnavailable, "the delivery could not be stored; redeliver it later")
		return OutcomeNotStored
	}
	if !fresh {
		h.logger.Debug().Str("delivery", d.Event.GUID).Msg("delivery repeated")
		answer(w, http.StatusAccepted, "already received")
		return OutcomeRepeated
	}
	h.logger.Info().Str("delivery", d.Event.GUID).Str("event", d.Event.Event).Str("action", d.Event.Action).
		Str("subject", d.Subject.Key).Msg("delivery accepted: " + why)
	answer(w, http.StatusAccepted, "accepted")
	return OutcomeAccepted
}

// checkHead refuses by what the request's head says, cheapest first.
func checkHead(r *http.Request) (guid, event string, no *refusal) {
	if r.Method != http.MethodPost {
		return "", "", refuse(http.StatusMethodNotAllowed, "deliveries come by POST")
	}
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return "", "", refuse(http.StatusUnsupportedMediaType,
			"the content type is not application/json; in the App's webhook settings set Content type to application/json")
	}
	if r.ContentLength > MaxBody {
		return "", "", tooLarge()
	}
	guid = r.Header.Get("X-GitHub-Delivery")
	if !wellFormedGUID(guid) {
		return "", "", refuse(http.StatusBadRequest, "X-GitHub-Delivery must be a delivery id of at most 64 letters, digits and hyphens")
	}
	event = r.Header.Get("X-GitHub-Event")
	if !wellFormedEvent(event) {
		return guid, "", refuse(http.StatusBadRequest, "X-GitHub-Event must name an event")
	}
	return guid, event, nil
}

func wellFormedGUID(s string) bool {
	if s == "" || len(s) > maxGUID {
		return false
	}
	for _, c := range []byte(s) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '-') {
			return false
		}
	}
	return true
}

func wellFormedEvent(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz_") == ""
}

func (h *hook) refused(w http.ResponseWriter, r *http.Request, guid string, no *refusal) (outcome string) {
	h.logger.Warn().Str("delivery", guid).Str("remote", r.RemoteAddr).Int("status", no.status).Msg("delivery refused: " + no.sentence)
	if no.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	answer(w, no.status, no.sentence)
	if no.status == http.StatusServiceUnavailable {
		return OutcomeNotStored // too much at once: it may be authentic
	}
	return OutcomeRefused
}

// answer writes one plain line. The status tells all that a sender must know, so
// a connection that is gone by now changes nothing.
func answer(w http.ResponseWriter, status int, sentence string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(sentence + "\n"))
}
