package github

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/countersign/countersign/review/forge"
	jwt "github.com/golang-jwt/jwt/v4"
)

func TestCase045_TokensAreRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int, r *http.Request, _ string) (*http.Response, error) {
			if n == 1 {
				return reply(200, branchBody), nil
			}
			if r.Header.Get("Authorization") != "Bearer ghs_secret2" {
				return reply(401, `{"message":"Bad credentials"}`), nil
			}
			return reply(201, createdBody), nil
		}}
		c := newTestClient(t, f)
		if err := readBranch(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		time.Sleep(61 * time.Minute)
		if err := create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if f.tokens != 2 || f.calls != 2 {
			t.Errorf("%d tokens, %d calls", f.tokens, f.calls)
		}
	})
}

func TestCase046_RenewedWithMarginAndOnceAfterA401(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: always(200, branchBody)}
		c := newTestClient(t, f)
		for _, wait := range []time.Duration{0, 54 * time.Minute, 2 * time.Minute} {
			time.Sleep(wait)
			if err := readBranch(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if f.tokens != 2 {
			t.Errorf("%d tokens: the second should be made with 4 minutes left, not before", f.tokens)
		}
		// Revoked in the middle: one new token, one more try.
		time.Sleep(10 * time.Minute)
		f.answer = func(_ int, r *http.Request, _ string) (*http.Response, error) {
			if r.Header.Get("Authorization") == "Bearer ghs_secret2" {
				return reply(401, `{"message":"Bad credentials"}`), nil
			}
			return reply(200, branchBody), nil
		}
		f.calls = 0
		if err := readBranch(t.Context(), c); err != nil || f.tokens != 3 || f.calls != 2 {
			t.Errorf("%v, %d tokens, %d calls", err, f.tokens, f.calls)
		}
		// For good: it fails visibly.
		time.Sleep(10 * time.Minute)
		f.answer = always(401, `{"message":"Bad credentials"}`)
		f.calls = 0
		fe := asForge(t, readBranch(t.Context(), c))
		if fe.Kind != forge.KindUnauthorized || f.tokens != 4 || f.calls > 5 {
			t.Errorf("%v, %d tokens, %d calls", fe, f.tokens, f.calls)
		}
	})
}

func TestCase047_YoungTokenIsGivenTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		f := &fake{answer: func(int, *http.Request, string) (*http.Response, error) {
			if time.Since(start) < 3*time.Second {
				return reply(401, `{"message":"Bad credentials"}`), nil
			}
			return reply(201, createdBody), nil
		}}
		if err := create(t.Context(), newTestClient(t, f)); err != nil {
			t.Fatal(err)
		}
		if f.tokens != 1 || f.calls != 3 {
			t.Errorf("%d tokens, %d calls", f.tokens, f.calls)
		}
	})
	synctest.Test(t, func(t *testing.T) { // after about five seconds it is an error
		start := time.Now()
		f := &fake{answer: always(401, `{"message":"Bad credentials"}`)}
		fe := asForge(t, create(t.Context(), newTestClient(t, f)))
		if took := time.Since(start); fe.Kind != forge.KindUnauthorized || f.tokens != 1 || took > 6*time.Second || took < 4*time.Second {
			t.Errorf("%v after %s, %d tokens", fe, took, f.tokens)
		}
	})
}

func TestCase049_AppTokenIsIssuedInThePast(t *testing.T) {
	for _, skew := range []time.Duration{0, 30 * time.Second, 59 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{answer: always(200, branchBody)}
			now := func() time.Time { return time.Now().Add(skew) }
			c := clientOf(t, newTestHost(t, f, func(o *Options) { o.Now = now }))
			if err := readBranch(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			claims := appClaims(t, f.seen[0].auth)
			if claims.Issuer != "4711" || claims.IssuedAt.After(time.Now()) {
				t.Errorf("skew %s: issued %s after GitHub's now", skew, time.Until(claims.IssuedAt.Time))
			}
			if life := claims.ExpiresAt.Sub(claims.IssuedAt.Time); life > 10*time.Minute || claims.ExpiresAt.Before(time.Now()) {
				t.Errorf("skew %s: lives %s", skew, life)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		f.onToken = func(int) *http.Response {
			return reply(401, `{"message":"'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"}`,
				"Date", time.Now().Add(-90*time.Second).UTC().Format(http.TimeFormat))
		}
		fe := asForge(t, readBranch(t.Context(), newTestClient(t, f)))
		if fe.Kind != forge.KindUnauthorized || !strings.Contains(fe.Hint, "clock") || !strings.Contains(fe.Hint, "1m30s") {
			t.Errorf("got %v, hint %q", fe, fe.Hint)
		}
	})
}

func appClaims(t *testing.T, auth string) *jwt.RegisteredClaims {
	t.Helper()
	key, err := jwt.ParseRSAPrivateKeyFromPEM(testKey())
	if err != nil {
		t.Fatal(err)
	}
	var claims jwt.RegisteredClaims
	parser := jwt.NewParser(jwt.WithoutClaimsValidation(), jwt.WithValidMethods([]string{"RS256"}))
	if _, err := parser.ParseWithClaims(strings.TrimPrefix(auth, "Bearer "), &claims, func(*jwt.Token) (any, error) { return &key.PublicKey, nil }); err != nil {
		t.Fatal(err)
	}
	return &claims
}

func TestTokensAreSharedAndMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: always(200, branchBody)}
		h := newTestHost(t, f, nil)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if err := readBranch(t.Context(), clientOf(t, h)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if f.tokens != 1 {
			t.Errorf("%d tokens for 20 callers", f.tokens)
		}
		other, err := h.Client(8)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Permission(t.Context(), acme, "mona"); err == nil || f.tokens != 2 {
			t.Errorf("another installation has its own token: %v, %d", err, f.tokens)
		}
	})
}

func TestTokenAnswersAreChecked(t *testing.T) {
	for _, body := range []string{``, `null`, `{}`, `[]`, `{"token":"ghs_x"}`, `{"token":"","expires_at":"2030-01-01T00:00:00Z"}`, `{"token":"ghs_x","expires_at":"soon"}`, `{"token":5}`} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{onToken: func(int) *http.Response { return reply(201, body) }}
			err := readBranch(t.Context(), newTestClient(t, f))
			if !forge.IsKind(err, forge.KindMalformed) || strings.Contains(err.Error(), "ghs_") || f.tokens != 1 {
				t.Errorf("%s: got %v", body, err)
			}
		})
	}
}

func TestInstallationsAreBounded(t *testing.T) {
	h := newTestHost(t, &fake{}, func(o *Options) { o.Limits.Installations = 3 })
	for i := range 10 {
		h.state.get(int64(i + 1))
	}
	if n := len(h.state.byID); n != 3 {
		t.Errorf("%d installations are kept", n)
	}
}

func TestTokenGoesToGitHubOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answer: func(n int, r *http.Request, _ string) (*http.Response, error) {
			if n == 1 {
				return reply(301, "", "Location", "https://api.test/repositories/42/branches/main"), nil
			}
			if r.Header.Get("Authorization") == "" {
				return reply(401, ""), nil
			}
			return reply(200, branchBody), nil
		}}
		if err := readBranch(t.Context(), newTestClient(t, f)); err != nil {
			t.Errorf("a renamed repository is followed on the same host: %v", err)
		}
		for _, to := range []string{"https://evil.test/", "http://api.test/x"} {
			f := &fake{answer: always(302, "", "Location", to)}
			if err := readBranch(t.Context(), newTestClient(t, f)); err == nil || f.calls != 1 {
				t.Errorf("followed to %s: %v, %d calls", to, err, f.calls)
			}
		}
	})
	f := &fake{answer: always(200, branchBody)}
	h := newTestHost(t, f, nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://evil.test/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := h.http.Transport.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
		t.Error("a token was offered to another host")
	}
	if fmt.Sprint(len(f.seen)) != "0" {
		t.Errorf("seen %v", f.seen)
	}
}
