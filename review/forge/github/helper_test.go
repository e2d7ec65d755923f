package github

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/countersign/countersign/review/forge"
	"github.com/rs/zerolog"
)

const (
	sha1A = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	sha1B = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
	sha1C = "cccccccccccccccccccccccccccccccccccccccc"
)

var acme = forge.Repo{ID: 42, Owner: "acme", Name: "api", Installation: 7}

// testKey is made once: an RSA key costs a moment.
var testKey = sync.OnceValue(func() []byte {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})
})

// seen is one request that reached the fake.
type seen struct {
	method, path, auth, ifNone string
	header                     http.Header
	body                       string
	at                         time.Time
}

// fake answers in memory, so that tests can run in a bubble of fake time. Token
// calls are answered by itself unless onToken is set.
type fake struct {
	mu      sync.Mutex
	seen    []seen
	tokens  int
	onToken func(n int) *http.Response
	answer  func(n int, r *http.Request, body string) (*http.Response, error) // n counts from 1, tokens left out
	calls   int
}

func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	body := ""
	if r.Body != nil {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		body = string(raw)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = append(f.seen, seen{method: r.Method, path: r.URL.RequestURI(), auth: r.Header.Get("Authorization"),
		ifNone: r.Header.Get("If-None-Match"), header: r.Header.Clone(), body: body, at: time.Now()})
	if strings.HasSuffix(r.URL.Path, "/access_tokens") {
		f.tokens++
		if f.onToken != nil {
			if resp := f.onToken(f.tokens); resp != nil {
				return resp, nil
			}
		}
		return reply(201, fmt.Sprintf(`{"token":"ghs_secret%d","expires_at":%q}`, f.tokens, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))), nil
	}
	f.calls++
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return f.answer(f.calls, r, body)
}

// requests are those that were no token calls.
func (f *fake) requests() []seen {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []seen
	for _, s := range f.seen {
		if !strings.HasSuffix(s.path, "/access_tokens") {
			out = append(out, s)
		}
	}
	return out
}

// reply makes an answer; pairs are header names and values.
func reply(status int, body string, pairs ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: h,
		ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body))}
}

// always answers every call the same way.
func always(status int, body string, pairs ...string) func(int, *http.Request, string) (*http.Response, error) {
	return func(int, *http.Request, string) (*http.Response, error) { return reply(status, body, pairs...), nil }
}

func newTestHost(t testing.TB, rt http.RoundTripper, change func(*Options)) *Host {
	t.Helper()
	o := Options{AppID: 4711, PrivateKeyPEM: testKey(), RESTURL: "https://api.test/", Transport: rt, Logger: zerolog.Nop()}
	if change != nil {
		change(&o)
	}
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func newTestClient(t testing.TB, f *fake) *Client {
	t.Helper()
	return clientOf(t, newTestHost(t, f, nil))
}

func clientOf(t testing.TB, h *Host) *Client {
	t.Helper()
	c, err := h.Client(acme.Installation)
	if err != nil {
		t.Fatal(err)
	}
	client, ok := c.(*Client)
	if !ok {
		t.Fatalf("client is a %T", c)
	}
	return client
}

// asForge unwraps a *forge.Error, or fails.
func asForge(t *testing.T, err error) *forge.Error {
	t.Helper()
	fe, ok := err.(*forge.Error) //nolint:errorlint // the outermost error must be ours
	if !ok {
		t.Fatalf("error is a %T (%v), want *forge.Error", err, err)
	}
	return fe
}

func logger(buf *bytes.Buffer) zerolog.Logger { return zerolog.New(buf).Level(zerolog.DebugLevel) }
