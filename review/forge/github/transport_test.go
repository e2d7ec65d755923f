package github

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign/countersign/review/forge"
)

const branchBody = `{"name":"main","protected":false}`

const createdBody = `{"id":9,"head_sha":"` + sha1A + `"}`

func aCheck() forge.CheckWrite {
	return forge.CheckWrite{Name: "countersign", HeadSHA: sha1A, ExternalID: "1:main:s", Status: "in_progress", Title: "t", Summary: "s"}
}

// readBranch is the simplest read there is.
func readBranch(ctx context.Context, c *Client) error {
	_, err := c.protection(ctx, acme, "main")
	return err
}

func create(ctx context.Context, c *Client) error {
	_, err := c.CreateCheck(ctx, acme, aCheck())
	return err
}

func TestRetriesByKind(t *testing.T) {
	update := func(w forge.CheckWrite) func(context.Context, *Client) error {
		return func(ctx context.Context, c *Client) error { return c.UpdateCheck(ctx, acme, 9, w) }
	}
	annotated := aCheck()
	annotated.Annotations = []forge.Annotation{{Path: "a.go", StartLine: 1, EndLine: 1, Level: "failure", Message: "m"}}
	reset := func(int, *http.Request, string) (*http.Response, error) { return nil, syscall.ECONNRESET }
	for name, tc := range map[string]struct {
		do     func(context.Context, *Client) error
		answer func(int, *http.Request, string) (*http.Response, error)
		calls  int
		kind   forge.Kind
	}{
		"a read is tried three times":           {readBranch, always(502, ""), 3, forge.KindUnavailable},
		"a read after a reset too":              {readBranch, reset, 3, forge.KindUnavailable},
		"an update is tried three times":        {update(aCheck()), always(500, ""), 3, forge.KindUnavailable},
		"an update that appends is tried once":  {update(annotated), always(500, ""), 1, forge.KindUnavailable},
		"a creation is tried once":              {create, always(502, ""), 1, forge.KindUnavailable},
		"a creation that was cut off, once too": {create, reset, 1, forge.KindUnavailable},
		"not found is an answer":                {readBranch, always(404, `{"message":"Branch not found"}`), 1, forge.KindNotFound},
		"invalid is an answer":                  {create, always(422, `{"message":"Invalid request","errors":[{"field":"head_sha","code":"invalid"}]}`), 1, forge.KindInvalid},
		"too large is an answer":                {readBranch, always(406, `{"message":"too large","errors":[{"code":"too_large"}]}`), 1, forge.KindTooLarge},
		"a redirect elsewhere is not followed":  {readBranch, always(301, "", "Location", "https://evil.test/x"), 1, forge.KindMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{answer: tc.answer}
				err := tc.do(t.Context(), newTestClient(t, f))
				fe := asForge(t, err)
				if fe.Kind != tc.kind || f.calls != tc.calls {
					t.Errorf("got %v after %d calls, want kind %q after %d", err, f.calls, tc.kind, tc.calls)
				}
				if tc.calls == 1 && tc.kind == forge.KindUnavailable && fe.Hint == "" {
					t.Error("nothing says that it may have happened all the same")
				}
			})
		})
	}
}

func TestRetrySucceeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int, _ *http.Request, _ string) (*http.Response, error) {
			if n < 3 {
				return reply(503, ""), nil
			}
			return reply(200, branchBody), nil
		}}
		if err := readBranch(t.Context(), newTestClient(t, f)); err != nil {
			t.Fatal(err)
		}
		if f.calls != 3 {
			t.Errorf("%d calls, want 3", f.calls)
		}
	})
}

func TestRetryKeepsTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int, _ *http.Request, _ string) (*http.Response, error) {
			if n == 1 {
				return reply(503, ""), nil
			}
			return reply(200, `{"id":9}`), nil
		}}
		if err := newTestClient(t, f).UpdateCheck(t.Context(), acme, 9, aCheck()); err != nil {
			t.Fatal(err)
		}
		got := f.requests()
		if len(got) != 2 || got[0].body == "" || got[0].body != got[1].body {
			t.Errorf("the second try sent another body: %+v", got)
		}
	})
}

func TestDeadlines(t *testing.T) {
	hang := func(_ int, r *http.Request, _ string) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		f := &fake{answer: hang}
		fe := asForge(t, readBranch(t.Context(), newTestClient(t, f)))
		if fe.Kind != forge.KindUnavailable || f.calls != 3 || !strings.Contains(fe.Error(), "no answer within 30s") {
			t.Errorf("got %v after %d calls", fe, f.calls)
		}
		if took := time.Since(start); took < 90*time.Second || took > 95*time.Second {
			t.Errorf("three attempts took %s", took)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the caller's own end is not retried
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		f := &fake{answer: hang}
		err := readBranch(ctx, newTestClient(t, f))
		if !errors.Is(err, context.DeadlineExceeded) || f.calls != 1 {
			t.Errorf("got %v after %d calls", err, f.calls)
		}
	})
}

func TestBodiesAreBounded(t *testing.T) {
	big := strings.Repeat("x", 1000)
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int, _ *http.Request, _ string) (*http.Response, error) {
			resp := reply(200, big)
			if n == 2 {
				resp.ContentLength = -1 // as with a chunked body
			}
			return resp, nil
		}}
		c := clientOf(t, newTestHost(t, f, func(o *Options) { o.Limits.JSONBytes = 999 }))
		for range 2 {
			if err := readBranch(t.Context(), c); !forge.IsKind(err, forge.KindTooLarge) {
				t.Errorf("got %v, want too large", err)
			}
		}
		if f.calls != 2 {
			t.Errorf("%d calls: an answer that is too large must not be asked for again", f.calls)
		}
	})
	synctest.Test(t, func(t *testing.T) { // a refusal's body is cut, not refused
		f := &fake{answer: always(404, `{"message":"`+strings.Repeat("y", 1<<20)+`"}`)}
		if err := readBranch(t.Context(), newTestClient(t, f)); !forge.IsKind(err, forge.KindNotFound) || len(err.Error()) > 1000 {
			t.Errorf("got %.200v", err)
		}
	})
}

func TestCase041_SecondaryLimitIsWaitedFor(t *testing.T) {
	for _, status := range []int{403, 429} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answer: func(n int, _ *http.Request, _ string) (*http.Response, error) {
				if n == 1 {
					return reply(status, `{"message":"You have exceeded a secondary rate limit"}`, "Retry-After", "2", "X-RateLimit-Remaining", "4771"), nil
				}
				return reply(201, createdBody), nil
			}}
			if err := create(t.Context(), newTestClient(t, f)); err != nil {
				t.Fatal(err)
			}
			got := f.requests()
			if len(got) != 2 || got[1].at.Sub(got[0].at) < 2*time.Second || got[0].body != got[1].body {
				t.Errorf("status %d: %d calls, %+v", status, len(got), got)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // control: a missing permission is no limit
		f := &fake{answer: always(403, `{"message":"Resource not accessible by integration"}`, "X-RateLimit-Remaining", "4771")}
		fe := asForge(t, create(t.Context(), newTestClient(t, f)))
		if fe.Kind != forge.KindForbidden || f.calls != 1 || !strings.Contains(fe.Error(), "checks=write") {
			t.Errorf("got %v after %d calls", fe, f.calls)
		}
	})
}

func TestRateLimits(t *testing.T) {
	soon := func(d time.Duration) string { return fmt.Sprint(time.Now().Add(d).Unix()) }
	for name, tc := range map[string]struct {
		headers func() []string
		status  int
		body    string
		after   time.Duration
	}{
		"retry-after beyond what is waited in place": {func() []string { return []string{"Retry-After", "30"} }, 403, `{}`, 30 * time.Second},
		"primary limit until its reset": {func() []string {
			return []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Reset", soon(600 * time.Second)}
		}, 403, `{"message":"API rate limit exceeded"}`, 600 * time.Second},
		"secondary limit without header": {func() []string { return nil }, 403, `{"message":"You have exceeded a secondary rate limit."}`, time.Minute},
		"429 without anything":           {func() []string { return nil }, 429, ``, time.Minute},
		"retry-after as a date": {func() []string {
			return []string{"Retry-After", time.Now().Add(40 * time.Second).UTC().Format(http.TimeFormat)}
		}, 429, ``, 40 * time.Second},
		"retry-after that is no time": {func() []string { return []string{"Retry-After", "later"} }, 429, ``, time.Minute},
		"retry-after of a year":       {func() []string { return []string{"Retry-After", "31536000"} }, 429, ``, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{answer: always(tc.status, tc.body, tc.headers()...)}
				c := newTestClient(t, f)
				fe := asForge(t, readBranch(t.Context(), c))
				if fe.Kind != forge.KindRateLimited || fe.RetryAfter.Round(time.Second) != tc.after || f.calls != 1 {
					t.Errorf("got %v, retry after %s, %d calls; want %s", fe, fe.RetryAfter, f.calls, tc.after)
				}
				// Until then nothing is asked.
				fe = asForge(t, readBranch(t.Context(), c))
				if fe.Kind != forge.KindRateLimited || fe.RetryAfter <= 0 || f.calls != 1 {
					t.Errorf("a limited installation was asked again: %v, %d calls", fe, f.calls)
				}
				f.answer = always(200, branchBody)
				time.Sleep(tc.after)
				if err := readBranch(t.Context(), c); err != nil {
					t.Errorf("after the wait: %v", err)
				}
			})
		})
	}
}

func TestRateLimitIsWaitedForOnceOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: always(403, `{}`, "Retry-After", "2")}
		fe := asForge(t, readBranch(t.Context(), newTestClient(t, f)))
		if fe.Kind != forge.KindRateLimited || fe.RetryAfter != 2*time.Second || f.calls != 2 {
			t.Errorf("got %v after %d calls", fe, f.calls)
		}
	})
}

func withAnswer(c *Client, f *fake, a func(int, *http.Request, string) (*http.Response, error)) *Client {
	f.answer = a
	return c
}

func TestCase072_SuspendedInstallation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		suspended := true
		f := &fake{answer: always(200, branchBody)}
		f.onToken = func(int) *http.Response {
			if suspended {
				return reply(403, `{"message":"This installation has been suspended"}`)
			}
			return nil
		}
		c := newTestClient(t, f)
		fe := asForge(t, readBranch(t.Context(), c))
		if fe.Kind != forge.KindSuspended || f.tokens != 1 || f.calls != 0 {
			t.Errorf("got %v after %d token calls", fe, f.tokens)
		}
		if !strings.Contains(fe.Op, "read branch acme/api:main") || !strings.Contains(fe.Op, "installation 7") {
			t.Errorf("op %q does not say what was tried", fe.Op)
		}
		suspended = false
		if err := readBranch(t.Context(), c); err != nil {
			t.Errorf("after unsuspend: %v", err)
		}
	})
}

func TestCase073_MissingPermissionIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: always(403, `{"message":"Resource not accessible by integration"}`, "X-Accepted-GitHub-Permissions", "checks=write")}
		fe := asForge(t, create(t.Context(), newTestClient(t, f)))
		want := `create check "countersign" on acme/api aaaaaaa: forbidden (403): Resource not accessible by integration (the App needs the permission checks=write, and an owner has to accept it)`
		if fe.Error() != want {
			t.Errorf("got  %v\nwant %v", fe, want)
		}
	})
}

func TestNothingSecretLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		f := &fake{answer: func(n int, _ *http.Request, _ string) (*http.Response, error) {
			if n%2 == 1 {
				return nil, syscall.ECONNRESET
			}
			return reply(503, `{"message":"no"}`, "Retry-After", "1"), nil
		}}
		c := clientOf(t, newTestHost(t, f, func(o *Options) { o.Logger = logger(&log) }))
		err := readBranch(t.Context(), c)
		text := fmt.Sprintf("%v %+v %s", err, err, log.String())
		if log.Len() == 0 {
			t.Error("retries are not logged")
		}
		for _, secret := range []string{"ghs_", "Bearer", "PRIVATE", "api.test", "eyJ"} {
			if strings.Contains(text, secret) {
				t.Errorf("%q in %s", secret, text)
			}
		}
	})
}

func TestCallsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int, _ *http.Request, _ string) (*http.Response, error) {
			if n == 1 {
				return reply(502, ""), nil
			}
			return reply(200, branchBody), nil
		}}
		calls := &forge.Calls{}
		if err := readBranch(forge.WithCalls(t.Context(), calls), newTestClient(t, f)); err != nil {
			t.Fatal(err)
		}
		got := calls.ByRoute()
		if calls.Total() != 3 || got[routeToken] != 1 || got[routeBranch] != 2 {
			t.Errorf("got %v", got)
		}
	})
}

func TestETagsAreRevalidated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int, r *http.Request, _ string) (*http.Response, error) {
			switch {
			case n == 1:
				return reply(200, branchBody, "ETag", `"v1"`, "Cache-Control", "private, max-age=3600"), nil
			case n == 2 && r.Header.Get("If-None-Match") == `"v1"`:
				return reply(304, ""), nil
			}
			return reply(200, `{"name":"main","protected":true,"protection":{"required_status_checks":{"contexts":["build"]}}}`, "ETag", `"v2"`), nil
		}}
		c := newTestClient(t, f)
		for n, want := range []int{0, 0, 1} {
			got, err := c.protection(t.Context(), acme, "main")
			if err != nil || len(got) != want {
				t.Errorf("call %d: %v, %v", n+1, got, err)
			}
		}
		if f.calls != 3 {
			t.Errorf("%d calls: max-age must not answer for GitHub", f.calls)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	good := Options{AppID: 1, PrivateKeyPEM: testKey()}
	for name, change := range map[string]func(*Options){
		"app id":         func(o *Options) { o.AppID = 0 },
		"key":            func(o *Options) { o.PrivateKeyPEM = []byte("-----BEGIN NOTHING-----") },
		"url":            func(o *Options) { o.RESTURL = "ftp://x/" },
		"credentials":    func(o *Options) { o.RESTURL = "https://user:hunter2@host/" },
		"graphql url":    func(o *Options) { o.GraphQLURL = "graphql" },
		"negative limit": func(o *Options) { o.Limits.Tries = -1 },
	} {
		o := good
		change(&o)
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "NOTHING") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	h, err := New(Options{AppID: 1, PrivateKeyPEM: testKey(), RESTURL: "https://ghe.example/api/v3"})
	if err != nil || h.graphql != "https://ghe.example/api/graphql" {
		t.Errorf("enterprise: %v, %v", h, err)
	}
	if h, err = New(good); err != nil || h.graphql != "https://api.github.com/graphql" {
		t.Errorf("github.com: %v", err)
	}
	if _, err := h.Client(0); !forge.IsKind(err, forge.KindInvalid) {
		t.Errorf("installation 0: %v", err)
	}
}
