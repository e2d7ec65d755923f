package handlers

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // to show that it is refused
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

const (
	secretOld, secretNew = "the old secret", "the new secret"
	ownAppID             = 4242
)

// recorder is an intake that remembers.
type recorder struct {
	mu         sync.Mutex
	deliveries map[string]Delivery
	bodies     map[string]string
	err        error
}

func (r *recorder) Accept(ctx context.Context, d Delivery) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return false, r.err
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if _, repeated := r.deliveries[d.Event.GUID]; repeated {
		return false, nil
	}
	if r.deliveries == nil {
		r.deliveries, r.bodies = make(map[string]Delivery), make(map[string]string)
	}
	r.deliveries[d.Event.GUID] = d
	r.bodies[d.Event.GUID] = string(d.Payload)
	return true, nil
}

func newHook(tb testing.TB, intake Intake, secrets ...string) http.Handler {
	tb.Helper()
	if len(secrets) == 0 {
		secrets = []string{secretNew}
	}
	o := Options{OwnAppID: ownAppID, Intake: intake, Logger: zerolog.Nop(), Now: func() time.Time { return time.Unix(1_790_000_000, 0) }}
	for _, s := range secrets {
		o.Secrets = append(o.Secrets, []byte(s))
	}
	h, err := New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

func sign256(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

func sign1(secret string, body []byte) string {
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write(body)
	return "sha1=" + hex.EncodeToString(mac.Sum(nil))
}

func request(body []byte) *http.Request {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, HookPath, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-GitHub-Event", "pull_request")
	r.Header.Set("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	r.Header.Set("X-Hub-Signature-256", sign256(secretNew, body))
	return r
}

func golden(tb testing.TB) []byte {
	tb.Helper()
	body, err := os.ReadFile("testdata/pull_request.json")
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

func TestRefusals(t *testing.T) {
	body := golden(t)
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, tc := range []struct {
		name   string
		change func(*http.Request)
		status int
		says   string
	}{
		{"method", func(r *http.Request) { r.Method = http.MethodGet }, 405, "POST"},
		{"case-075 form-encoded", set("Content-Type", "application/x-www-form-urlencoded"), 415, "set Content type to application/json"},
		{"no content type", set("Content-Type", ""), 415, "application/json"},
		{"content type with a prefix", set("Content-Type", "application/jsonp"), 415, "application/json"},
		{"case-037 announced over 25 MB", func(r *http.Request) { r.ContentLength = MaxBody + 1 }, 413, "25 MB"},
		{"no delivery id", set("X-GitHub-Delivery", ""), 400, "X-GitHub-Delivery"},
		{"delivery id too long", set("X-GitHub-Delivery", strings.Repeat("a", 65)), 400, "X-GitHub-Delivery"},
		{"delivery id with a line end", set("X-GitHub-Delivery", "a\nb"), 400, "X-GitHub-Delivery"},
		{"no event", set("X-GitHub-Event", ""), 400, "X-GitHub-Event"},
		{"event that is no name", set("X-GitHub-Event", "../x"), 400, "X-GitHub-Event"},
		{"unsigned", set("X-Hub-Signature-256", ""), 401, "not signed"},
		{"signed with SHA-1 only", func(r *http.Request) {
			r.Header.Del("X-Hub-Signature-256")
			r.Header.Set("X-Hub-Signature", sign1(secretNew, body))
		}, 401, "SHA-1 is not"},
		{"SHA-1 in the place of SHA-256", set("X-Hub-Signature-256", sign1(secretNew, body)), 401, "not signed"},
		{"signature without digits", set("X-Hub-Signature-256", "sha256="), 401, "64 hexadecimal digits"},
		{"signature cut short", set("X-Hub-Signature-256", sign256(secretNew, body)[:40]), 401, "64 hexadecimal digits"},
		{"signature of another secret", set("X-Hub-Signature-256", sign256("guess", body)), 403, "does not match"},
		{"signature of another body", set("X-Hub-Signature-256", sign256(secretNew, body[1:])), 403, "does not match"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			intake := &recorder{}
			r := request(body)
			tc.change(r)
			w := httptest.NewRecorder()
			newHook(t, intake).ServeHTTP(w, r)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.says) {
				t.Errorf("got %d %q, want %d and a sentence with %q", w.Code, w.Body, tc.status, tc.says)
			}
			if len(intake.deliveries) != 0 {
				t.Error("a refused delivery was stored")
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	pull := golden(t)
	for _, tc := range []struct {
		name, event string
		body        string
		status      int
		says        string
		stored      bool
	}{
		{"accepted", "pull_request", string(pull), 202, "accepted", true},
		{"ping", "ping", `{"zen":"Keep it logically awesome.","hook_id":1}`, 200, "pong", false},
		{"case-075 unknown event", "star", `{"action":"created"}`, 202, "ignored: nothing acts on the event star", false},
		{"case-075 unknown action", "pull_request", strings.Replace(string(pull), `"action":"synchronize"`, `"action":"labeled"`, 1), 202,
			"ignored: nothing acts on the pull_request action labeled", false},
		{"not JSON", "pull_request", `{"action":`, 400, "JSON", false},
		{"empty", "pull_request", ``, 400, "JSON", false},
		{"not an object", "pull_request", `[1]`, 400, "not an object", false},
		{"two values", "pull_request", `{} {}`, 400, "something follows", false},
		{"without what it is about", "pull_request", `{"action":"opened"}`, 400, "names no repository", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			intake := &recorder{}
			r := request([]byte(tc.body))
			r.Header.Set("X-GitHub-Event", tc.event)
			w := httptest.NewRecorder()
			newHook(t, intake).ServeHTTP(w, r)
			if w.Code != tc.status || !strings.Contains(w.Body.String(), tc.says) {
				t.Errorf("got %d %q, want %d and a sentence with %q", w.Code, w.Body, tc.status, tc.says)
			}
			if stored := len(intake.deliveries) == 1; stored != tc.stored {
				t.Errorf("stored: got %v, want %v", stored, tc.stored)
			}
		})
	}
}

// Every answer is told with one of the outcomes.
func TestEveryAnswerIsObserved(t *testing.T) {
	var told []string
	intake := &recorder{}
	h, err := New(Options{OwnAppID: ownAppID, Intake: intake, Secrets: [][]byte{[]byte(secretNew)}, Logger: zerolog.Nop(),
		Observe: func(event, outcome string, took time.Duration) {
			if took <= 0 {
				t.Errorf("%s took %s", outcome, took)
			}
			told = append(told, event+" "+outcome)
		}})
	if err != nil {
		t.Fatal(err)
	}
	send := func(event, body string, change ...func(*http.Request)) {
		r := request([]byte(body))
		r.Header.Set("X-GitHub-Event", event)
		for _, c := range change {
			c(r)
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	pull := string(golden(t))
	send("pull_request", pull)
	send("pull_request", pull)
	send("ping", `{"zen":"x","hook_id":1}`)
	send("star", `{"action":"created"}`)
	send("../x", pull)
	send("pull_request", pull, func(r *http.Request) { r.Method = http.MethodGet })
	intake.err = errors.New("disk full")
	send("pull_request", pull)
	want := []string{"pull_request accepted", "pull_request repeated", "ping pong", "star ignored", "../x refused", "pull_request refused", "pull_request not_stored"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestAcceptedDeliveryIsWhole(t *testing.T) {
	body, intake := golden(t), &recorder{}
	w := httptest.NewRecorder()
	newHook(t, intake).ServeHTTP(w, request(body))
	d, ok := intake.deliveries["72d3162e-cc78-11e3-81ab-4c9367dc0958"]
	if !ok {
		t.Fatalf("not stored: %d %s", w.Code, w.Body)
	}
	sum := sha256.Sum256(body)
	if d.Event.BodySHA256 != hex.EncodeToString(sum[:]) || intake.bodies[d.Event.GUID] != string(body) {
		t.Error("the digest or the payload is not the body's")
	}
	if want := time.Unix(1_790_000_000, 0).UTC(); !d.Event.ReceivedAt.Equal(want) || d.Event.ReceivedAt.Location() != time.UTC {
		t.Errorf("received at %v, want %v", d.Event.ReceivedAt, want)
	}
	if want := PullSubject(770001, 7); d.Subject != want {
		t.Errorf("subject %v, want %v", d.Subject, want)
	}
}

func TestCase051_RepeatIsAnsweredQuickly(t *testing.T) {
	h := newHook(t, &recorder{})
	for i, says := range []string{"accepted", "already received", "already received"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request(golden(t)))
		if w.Code != http.StatusAccepted || strings.TrimSpace(w.Body.String()) != says {
			t.Errorf("delivery %d: got %d %q, want 202 %q", i+1, w.Code, w.Body, says)
		}
	}
}

func TestSecretsInRotation(t *testing.T) {
	body := golden(t)
	h := newHook(t, &recorder{}, secretOld, secretNew)
	for secret, status := range map[string]int{secretOld: 202, secretNew: 202, "neither": 403} {
		r := request(body)
		r.Header.Set("X-Hub-Signature-256", sign256(secret, body))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("signed with %q: got %d, want %d", secret, w.Code, status)
		}
	}
}

func TestOptionsAreRefused(t *testing.T) {
	good := Options{Secrets: [][]byte{[]byte("x")}, OwnAppID: 1, Intake: &recorder{}}
	for _, tc := range []struct {
		name   string
		change func(*Options)
		says   string
	}{
		{"no secret", func(o *Options) { o.Secrets = nil }, "0 secrets are set"},
		{"three secrets", func(o *Options) { o.Secrets = [][]byte{{1}, {2}, {3}} }, "3 secrets are set"},
		{"empty secret", func(o *Options) { o.Secrets = [][]byte{{1}, {}} }, "secret 2 is empty"},
		{"no intake", func(o *Options) { o.Intake = nil }, "no intake"},
		{"no App id", func(o *Options) { o.OwnAppID = 0 }, "App's id is 0"},
	} {
		o := good
		tc.change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: got %v, want an error with %q", tc.name, err, tc.says)
		}
	}
}

func TestStoreThatFailsIsSaidOnce(t *testing.T) {
	var log bytes.Buffer
	h, err := New(Options{Secrets: [][]byte{[]byte(secretNew)}, OwnAppID: ownAppID, Intake: &recorder{err: errors.New("disk full")}, Logger: zerolog.New(&log)})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request(golden(t)))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("got %d, Retry-After %q; want 503 and a time", w.Code, w.Header().Get("Retry-After"))
	}
	if strings.Contains(w.Body.String(), "disk") {
		t.Errorf("the answer tells of our insides: %q", w.Body)
	}
	if n := strings.Count(log.String(), "disk full"); n != 1 {
		t.Errorf("logged %d times, want once: %s", n, &log)
	}
}

func TestCase037_LargeBodies(t *testing.T) {
	pad := func(total int) []byte {
		body := strings.Replace(string(golden(t)), `"body":"`, `"body":"`+strings.Repeat("x", total), 1)
		return []byte(body)
	}
	h := newHook(t, &recorder{})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request(pad(3<<20)))
	if w.Code != http.StatusAccepted {
		t.Errorf("3 MB: got %d %s, want 202", w.Code, w.Body)
	}

	// Announced or not, what is too large is not read to its end.
	over := &counter{r: bytes.NewReader(pad(26 << 20))}
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, HookPath, over)
	r.Header = request([]byte(`{}`)).Header
	r.ContentLength = -1
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusRequestEntityTooLarge || over.n > MaxBody+1 {
		t.Errorf("26 MB: got %d after reading %d bytes, want 413 after at most %d", w.Code, over.n, MaxBody+1)
	}
}

type counter struct {
	r io.Reader
	n int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func TestBodyThatBreaksOff(t *testing.T) {
	r := request(golden(t))
	r.Body = io.NopCloser(io.MultiReader(strings.NewReader("{"), errReader{}))
	w := httptest.NewRecorder()
	newHook(t, &recorder{}).ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "could not be read") {
		t.Errorf("got %d %q, want 400", w.Code, w.Body)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// TestBuffersAreNotShared sends different bodies at once: a buffer given back too
// early would mix them.
func TestBuffersAreNotShared(t *testing.T) {
	intake := &recorder{}
	h := newHook(t, intake)
	base := string(golden(t))
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			body := []byte(strings.ReplaceAll(base, `"number":7`, fmt.Sprintf(`"number":%d`, 100+i)))
			r := request(body)
			r.Header.Set("X-GitHub-Delivery", fmt.Sprintf("d-%d", i))
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusAccepted {
				t.Errorf("delivery %d: got %d %s", i, w.Code, w.Body)
			}
		})
	}
	wg.Wait()
	for i := range 64 {
		if got := intake.deliveries[fmt.Sprintf("d-%d", i)].Event.Pull; got != 100+i {
			t.Errorf("delivery %d: got pull %d", i, got)
		}
	}
}

func FuzzHook(f *testing.F) {
	f.Add([]byte(`{"action":"opened"}`), "pull_request", "72d3162e", "application/json", true)
	f.Add([]byte(`{`), "check_run", "", "application/x-www-form-urlencoded", false)
	f.Add([]byte("\xff\x00"), "star", "x", "application/json; charset=utf-8", true)
	f.Fuzz(func(t *testing.T, body []byte, event, guid, media string, signed bool) {
		intake := &recorder{}
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, HookPath, bytes.NewReader(body))
		r.Header.Set("Content-Type", media)
		r.Header.Set("X-GitHub-Event", event)
		r.Header.Set("X-GitHub-Delivery", guid)
		if signed {
			r.Header.Set("X-Hub-Signature-256", sign256(secretNew, body))
		}
		w := httptest.NewRecorder()
		newHook(t, intake).ServeHTTP(w, r)
		if len(intake.deliveries) > 0 && (!signed || w.Code != http.StatusAccepted) {
			t.Errorf("stored although signed=%v and answered %d", signed, w.Code)
		}
		if w.Code == http.StatusServiceUnavailable || w.Code >= 500 {
			t.Errorf("answered %d %s", w.Code, w.Body)
		}
	})
}
