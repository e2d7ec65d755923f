package githubsim

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// hookTimeout is how long GitHub waits for an answer to a webhook.
const hookTimeout = 10 * time.Second

// maxHookBody is the largest payload GitHub sends; larger events are not delivered at all.
const maxHookBody = 25 << 20

// The states of a delivery.
const (
	stateQueued    = "queued"
	stateHeld      = "held"
	stateDelivered = "delivered"
	stateFailed    = "failed"
	stateDropped   = "dropped"
)

type hookTarget struct {
	url, secret   string
	appID, hookID int64
}

type hookItem struct {
	Delivery
	target hookTarget
}

// hookQueue delivers webhooks by a bounded number of workers. Those of one lane go out one after the
// other, in order; lanes take turns.
type hookQueue struct {
	log    *slog.Logger
	clock  func() time.Time
	client *http.Client
	max    int           // workers; with one, everything is in order
	forget bool          // bodies that were taken
	done   chan struct{} // closed when the last worker has ended
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex
	changed chan struct{} // closed and replaced at every change of state
	hold    bool
	closed  bool
	workers int
	busy    int
	items   []*hookItem      // everything that was ever queued
	lanes   map[string]*lane // those with something queued or under way
	ready   []*lane          // those whose next webhook may go out
	queued  int
}

// lane is what is queued for one repository, or for one installation where no repository is named.
type lane struct {
	name  string
	queue []*hookItem
}

func newHookQueue(opts Options) *hookQueue {
	ctx, cancel := context.WithCancel(context.Background())
	return &hookQueue{
		log: opts.Logger, hold: opts.HoldWebhooks, clock: opts.Clock, max: opts.HookWorkers, forget: opts.ForgetBodies, ctx: ctx, cancel: cancel,
		done: make(chan struct{}), changed: make(chan struct{}), lanes: map[string]*lane{},
		client: &http.Client{
			Timeout:       hookTimeout,
			Transport:     &http.Transport{Proxy: nil, MaxIdleConnsPerHost: max(opts.HookWorkers, 4)},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

func (q *hookQueue) add(d Delivery, t hookTarget) {
	q.mu.Lock()
	defer q.mu.Unlock()
	it := &hookItem{Delivery: d, target: t}
	q.items = append(q.items, it)
	switch {
	case len(d.Body) > maxHookBody:
		it.State, it.Error = stateDropped, "payload is over 25 MB"
	case q.hold:
		it.State = stateHeld
	default:
		q.push(it)
	}
	q.touch()
}

// laneOf names the lane of a webhook; one worker has one lane.
func (q *hookQueue) laneOf(it *hookItem) string {
	switch {
	case q.max == 1:
		return ""
	case it.Repository != "":
		return it.Repository
	}
	return strconv.FormatInt(it.InstallationID, 10)
}

// push hands an item to the workers. The caller holds mu.
func (q *hookQueue) push(it *hookItem) {
	it.State = stateQueued
	q.queued++
	name := q.laneOf(it)
	l := q.lanes[name]
	if l == nil {
		l = &lane{name: name}
		q.lanes[name] = l
		q.ready = append(q.ready, l)
	}
	l.queue = append(l.queue, it)
	if len(q.ready) > 0 && q.workers < q.max && !q.closed {
		q.workers++
		go q.work()
	}
}

// touch wakes who waits for a change. The caller holds mu.
func (q *hookQueue) touch() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// work delivers until no lane is ready; push starts another.
func (q *hookQueue) work() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ready) > 0 && !q.closed {
		l := q.ready[0]
		q.ready = q.ready[1:]
		it := l.queue[0]
		l.queue = l.queue[1:]
		q.queued--
		q.busy++
		q.mu.Unlock()
		q.deliver(q.ctx, it)
		q.mu.Lock()
		q.busy--
		if len(l.queue) > 0 {
			q.ready = append(q.ready, l)
		} else {
			delete(q.lanes, l.name)
		}
		q.touch()
	}
	q.workers--
	if q.workers == 0 && q.closed {
		close(q.done)
	}
	q.touch()
}

func (q *hookQueue) close() {
	q.mu.Lock()
	first, running := !q.closed, q.workers > 0
	q.closed = true
	q.mu.Unlock()
	q.cancel()
	if first && running {
		<-q.done
	}
	q.client.CloseIdleConnections()
}

// deliver sends one webhook and notes what came back.
func (q *hookQueue) deliver(ctx context.Context, it *hookItem) {
	start := time.Now() // a real duration, whatever the simulator's clock says
	status, err := q.post(ctx, it)
	q.mu.Lock()
	defer q.mu.Unlock()
	it.Attempts++
	it.Status, it.Error, it.Duration = status, "", time.Since(start)
	it.State = stateDelivered
	if err != nil {
		it.Error = err.Error()
	}
	if err != nil || status < 200 || status > 299 {
		it.State = stateFailed
	}
	if q.forget && it.State == stateDelivered {
		it.Body = nil
	}
	q.log.Debug("webhook", "event", it.Event, "action", it.Action, "guid", it.GUID, "status", status, "error", it.Error)
	q.touch()
}

func (q *hookQueue) post(ctx context.Context, it *hookItem) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, it.target.url, bytes.NewReader(it.Body))
	if err != nil {
		return 0, fmt.Errorf("webhook to %s: %w", it.target.url, err)
	}
	for k, v := range hookHeader(it.Delivery, it.target) {
		req.Header.Set(k, v)
	}
	resp, err := q.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, nil
}

func hookHeader(d Delivery, t hookTarget) map[string]string {
	h := map[string]string{
		"Content-Type": "application/json", "Accept": "*/*", "User-Agent": "GitHub-Hookshot/" + d.GUID[:7],
		"X-GitHub-Event": d.Event, "X-GitHub-Delivery": d.GUID, "X-GitHub-Hook-ID": strconv.FormatInt(t.hookID, 10),
		"X-GitHub-Hook-Installation-Target-Type": "integration",
		"X-GitHub-Hook-Installation-Target-ID":   strconv.FormatInt(t.appID, 10),
	}
	if t.secret != "" {
		h["X-Hub-Signature-256"] = Sign(t.secret, d.Body)
	}
	return h
}

// Sign is the value of X-Hub-Signature-256 for a body.
func Sign(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// Deliveries lists every webhook so far, oldest first, also those held or dropped.
func (s *Sim) Deliveries() []Delivery { return s.hooks.list() }

func (q *hookQueue) list() []Delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := make([]Delivery, 0, len(q.items))
	for _, it := range q.items {
		out = append(out, it.Delivery)
	}
	return out
}

// Held lists the webhooks that wait to be let go, oldest first.
func (s *Sim) Held() []Delivery {
	var out []Delivery
	for _, d := range s.hooks.list() {
		if d.State == stateHeld {
			out = append(out, d)
		}
	}
	return out
}

// Hold keeps webhooks from now on, as Options.HoldWebhooks does.
func (s *Sim) Hold() {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	s.hooks.hold = true
}

// Release queues everything held, in order, and holds no more.
func (s *Sim) Release() {
	q := s.hooks
	q.mu.Lock()
	defer q.mu.Unlock()
	q.hold = false
	for _, it := range q.items {
		if it.State == stateHeld {
			q.push(it)
		}
	}
	q.touch()
}

// ErrNoDelivery says that there is no webhook to deliver, redeliver or drop.
var ErrNoDelivery = errors.New("no such webhook delivery")

// DeliverNext delivers the oldest held webhook now and returns what came of it.
func (s *Sim) DeliverNext(ctx context.Context) (Delivery, error) {
	return s.deliverNow(ctx, func(it *hookItem) bool { return it.State == stateHeld })
}

// DeliverHeld delivers one held webhook now, whatever stands before it.
func (s *Sim) DeliverHeld(ctx context.Context, guid string) (Delivery, error) {
	return s.deliverNow(ctx, func(it *hookItem) bool { return it.GUID == guid && it.State == stateHeld })
}

// Redeliver sends a webhook again at once, with the same id and body, as the App's owner can. One
// whose body was forgotten is none.
func (s *Sim) Redeliver(ctx context.Context, guid string) (Delivery, error) {
	return s.deliverNow(ctx, func(it *hookItem) bool { return it.GUID == guid && it.Body != nil })
}

func (s *Sim) deliverNow(ctx context.Context, match func(*hookItem) bool) (Delivery, error) {
	q := s.hooks
	it := q.find(match)
	if it == nil {
		return Delivery{}, ErrNoDelivery
	}
	q.mu.Lock()
	if it.State == stateHeld {
		it.State = stateQueued
	}
	q.busy++
	q.mu.Unlock()
	q.deliver(ctx, it)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy--
	q.touch()
	return it.Delivery, nil
}

// DropHeld loses a held webhook, as a broken network does.
func (s *Sim) DropHeld(guid string) error {
	it := s.hooks.find(func(it *hookItem) bool { return it.GUID == guid && it.State == stateHeld })
	if it == nil {
		return ErrNoDelivery
	}
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	it.State = stateDropped
	s.hooks.touch()
	return nil
}

func (q *hookQueue) find(match func(*hookItem) bool) *hookItem {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, it := range q.items {
		if match(it) {
			return it
		}
	}
	return nil
}

// WaitIdle waits until no webhook is queued or under way; those held do not count.
func (s *Sim) WaitIdle(ctx context.Context) error {
	q := s.hooks
	for {
		q.mu.Lock()
		idle, changed := q.queued == 0 && q.busy == 0, q.changed
		q.mu.Unlock()
		if idle {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for webhooks to be delivered: %w", ctx.Err())
		}
	}
}
