package githubsim_test

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/countersign/countersign/app/githubsim"
)

// jwt makes an App token with claims of the test's choosing.
func jwt(t *testing.T, key *rsa.PrivateKey, claims map[string]any) string {
	t.Helper()
	part := func(v any) string { return base64.RawURLEncoding.EncodeToString(must(json.Marshal(v))) }
	text := part(map[string]string{"alg": "RS256", "typ": "JWT"}) + "." + part(claims)
	sum := sha256.Sum256([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(must(rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])))
}

// get asks with a given Authorization header and returns status and message.
func (w *world) get(path, authorization string) (int, string) {
	w.t.Helper()
	req := must(http.NewRequestWithContext(context.Background(), http.MethodGet, w.url+path, nil))
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var body struct{ Message string }
	_ = json.Unmarshal(must(io.ReadAll(resp.Body)), &body)
	return resp.StatusCode, body.Message
}

func TestCase049_AppTokens(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	now := w.clock.Now().Unix()
	key, other := must(sharedKey()), must(rsa.GenerateKey(rand.Reader, 2048))
	for name, row := range map[string]struct {
		key    *rsa.PrivateKey
		claims map[string]any
		status int
		says   string
	}{
		"good":                 {key, map[string]any{"iss": 4711, "iat": now - 60, "exp": now + 540}, 200, ""},
		"issuer as text":       {key, map[string]any{"iss": "4711", "iat": now - 60, "exp": now + 540}, 200, ""},
		"iat in the future":    {key, map[string]any{"iss": 4711, "iat": now + 30, "exp": now + 540}, 401, "'iat'"},
		"expired":              {key, map[string]any{"iss": 4711, "iat": now - 600, "exp": now}, 401, "'exp'"},
		"over ten minutes":     {key, map[string]any{"iss": 4711, "iat": now - 60, "exp": now + 601}, 401, "too far in the future"},
		"no iat":               {key, map[string]any{"iss": 4711, "exp": now + 540}, 401, "'iat'"},
		"another App's key":    {other, map[string]any{"iss": 4711, "iat": now - 60, "exp": now + 540}, 401, "could not be decoded"},
		"nobody":               {key, map[string]any{"iss": 99, "iat": now - 60, "exp": now + 540}, 401, "'iss'"},
		"an App without a key": {key, map[string]any{"iss": 15368, "iat": now - 60, "exp": now + 540}, 401, "'iss'"},
	} {
		t.Run(name, func(t *testing.T) {
			status, says := w.get("/app", "Bearer "+jwt(t, row.key, row.claims))
			if status != row.status || !strings.Contains(says, row.says) {
				t.Errorf("answered %d %q; want %d with %q", status, says, row.status, row.says)
			}
		})
	}
}

func TestCase045_InstallationTokens(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	ctx := context.Background()
	other := must(w.sim.AddRepo(githubsim.RepoSpec{Owner: "acme", Name: "other", Private: true}))
	elsewhere := must(w.sim.AddRepo(githubsim.RepoSpec{Owner: "globex", Name: "shop"}))
	token := func(opts *github.InstallationTokenOptions) string {
		t.Helper()
		got, _, err := w.asApp.Apps.CreateInstallationToken(ctx, w.inst.ID(), opts)
		if err != nil {
			t.Fatal(err)
		}
		return "token " + got.GetToken()
	}
	whole := token(nil)
	narrow := token(&github.InstallationTokenOptions{RepositoryIDs: []int64{w.repo.ID()}, Permissions: &github.InstallationPermissions{Contents: github.String("read")}})
	expect := func(when, path, auth string, status int, says string) {
		t.Helper()
		if got, text := w.get(path, auth); got != status || !strings.Contains(text, says) {
			t.Errorf("%s: GET %s answered %d %q; want %d %q", when, path, got, text, status, says)
		}
	}
	expect("whole", "/repos/acme/other", whole, 200, "")
	expect("whole", "/repos/"+elsewhere.FullName(), whole, 404, "Not Found")
	expect("narrow", "/repos/"+other.FullName(), narrow, 404, "Not Found")
	expect("narrow", "/repos/acme/shop/contents/README.md", narrow, 200, "")
	expect("narrow", "/repos/acme/shop/pulls", narrow, 403, "Resource not accessible by integration")
	expect("as App", "/app", whole, 401, "could not be decoded")
	expect("unknown", "/repos/acme/shop", "token ghs_nope", 401, "Bad credentials")
	expect("none", "/repos/acme/shop", "", 401, "Requires authentication")
	w.clock.Add(59*time.Minute + 59*time.Second)
	expect("59:59", "/repos/acme/shop", whole, 200, "")
	w.clock.Add(time.Second)
	expect("an hour", "/repos/acme/shop", whole, 401, "Bad credentials")

	if _, _, err := w.asApp.Apps.CreateInstallationToken(ctx, w.inst.ID(), &github.InstallationTokenOptions{
		Permissions: &github.InstallationPermissions{Administration: github.String("read")},
	}); err == nil {
		t.Error("a permission that was not granted was given")
	}
}

func TestCase072_SuspendedInstallation(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	ctx := context.Background()
	if _, _, err := w.gh.Repositories.Get(ctx, "acme", "shop"); err != nil {
		t.Fatal(err)
	}
	if err := w.inst.Suspend(); err != nil {
		t.Fatal(err)
	}
	_, resp, err := w.asApp.Apps.CreateInstallationToken(ctx, w.inst.ID(), nil)
	if err == nil || resp.StatusCode != http.StatusForbidden || !strings.Contains(err.Error(), "This installation has been suspended") {
		t.Errorf("a suspended installation's token: %v; want 403", err)
	}
	if _, resp, _ := w.gh.Repositories.Get(ctx, "acme", "shop"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("an old token still works: %d", resp.StatusCode)
	}
	if err := w.inst.Unsuspend(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.gh.Repositories.Get(ctx, "acme", "shop"); err != nil {
		t.Errorf("after unsuspend: %v", err)
	}
}

func TestCase073_MissingPermission(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	p := w.pull()
	w.inst.WithholdPermissions(map[string]string{"contents": "read", "pull_requests": "write"})
	_, resp, err := w.gh.Checks.CreateCheckRun(context.Background(), "acme", "shop", github.CreateCheckRunOptions{Name: "x", HeadSHA: p.HeadSHA()})
	if err == nil || resp.StatusCode != http.StatusForbidden || !strings.Contains(err.Error(), "Resource not accessible by integration") {
		t.Errorf("create check run: %v; want 403 Resource not accessible by integration", err)
	}
	if got := resp.Header.Get("X-Accepted-GitHub-Permissions"); got != "checks=write" {
		t.Errorf("X-Accepted-GitHub-Permissions is %q; want checks=write", got)
	}
	if _, _, err := w.gh.Issues.CreateComment(context.Background(), "acme", "shop", p.Number(), &github.IssueComment{Body: github.String("hi")}); err != nil {
		t.Errorf("comments are still allowed: %v", err)
	}
}

func TestETagsCostNothing(t *testing.T) {
	w := newWorld(t, githubsim.Options{RateLimit: 100})
	token := "token " + w.sim.UserToken("mona")
	get := func(tag string) (int, http.Header) {
		req := must(http.NewRequestWithContext(context.Background(), http.MethodGet, w.url+"/repos/acme/shop", nil))
		req.Header.Set("Authorization", token)
		if tag != "" {
			req.Header.Set("If-None-Match", tag)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return resp.StatusCode, resp.Header
	}
	_, header := get("")
	tag := header.Get("ETag")
	for range 3 {
		if status, _ := get(tag); status != http.StatusNotModified {
			t.Fatalf("answered %d; want 304", status)
		}
	}
	_, header = get("")
	if left := header.Get("X-RateLimit-Remaining"); left != "98" {
		t.Errorf("X-RateLimit-Remaining is %s after two answers and three 304; want 98", left)
	}
	w.repo.OpenIssue("x", "", "mona")
	if status, _ := get(tag); status != http.StatusOK {
		t.Errorf("answered %d after a change; want 200", status)
	}
}

func TestCase041_Limits(t *testing.T) {
	w := newWorld(t, githubsim.Options{RateLimit: 6, WritesPerMinute: 2})
	p := w.pull()
	ctx := context.Background()
	comment := func() (*github.Response, error) {
		_, resp, err := w.gh.Issues.CreateComment(ctx, "acme", "shop", p.Number(), &github.IssueComment{Body: github.String("hi")})
		return resp, err
	}
	for range 2 {
		if _, err := comment(); err != nil {
			t.Fatal(err)
		}
	}
	resp, err := comment()
	if err == nil || resp.StatusCode != http.StatusForbidden || resp.Header.Get("Retry-After") != "60" {
		t.Errorf("third write in a minute: %v, Retry-After %q; want 403 and 60", err, resp.Header.Get("Retry-After"))
	}
	w.clock.Add(time.Minute)
	// A new client: go-github remembers the refusal by the real clock.
	if status, _ := w.get("/rate_limit", "token "+w.sim.UserToken("mona")); status != http.StatusOK {
		t.Errorf("rate_limit answered %d", status)
	}
	token := "token " + w.sim.UserToken("hubot")
	for range 6 {
		w.get("/repos/acme/shop", token)
	}
	if status, says := w.get("/repos/acme/shop", token); status != http.StatusForbidden || !strings.Contains(says, "API rate limit exceeded") {
		t.Errorf("seventh request of six: %d %q; want 403", status, says)
	}
}

// TestTokensThatAreTakenBack: by the owner at once, and by the client that is done with one.
func TestTokensThatAreTakenBack(t *testing.T) {
	w := newWorld(t, githubsim.Options{})
	ctx := context.Background()
	token := func() string {
		t.Helper()
		got, _, err := w.asApp.Apps.CreateInstallationToken(ctx, w.inst.ID(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.GetToken()
	}
	first, second := token(), token()
	if _, err := w.client(bearer(first)).Apps.RevokeInstallationToken(ctx); err != nil {
		t.Fatal(err)
	}
	if status, _ := w.get("/repos/acme/shop", "token "+first); status != http.StatusUnauthorized {
		t.Errorf("a token given back answers %d; want 401", status)
	}
	if status, _ := w.get("/repos/acme/shop", "token "+second); status != http.StatusOK {
		t.Errorf("the other token answers %d; want 200", status)
	}
	w.inst.RevokeTokens()
	if status, _ := w.get("/repos/acme/shop", "token "+second); status != http.StatusUnauthorized {
		t.Errorf("after all were revoked: %d; want 401", status)
	}
}

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
