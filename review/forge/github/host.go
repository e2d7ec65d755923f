package github

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/countersign/countersign/review/forge"
	gh "github.com/google/go-github/v66/github"
	"github.com/rs/zerolog"
)

// Options configures a Host.
type Options struct {
	// AppID is the GitHub App's id.
	AppID int64
	// PrivateKeyPEM is the App's RSA key, PKCS#1 or PKCS#8.
	PrivateKeyPEM []byte
	// RESTURL is the root of the REST API; https://api.github.com/ when empty. On
	// GitHub Enterprise Server it ends in /api/v3/.
	RESTURL string
	// GraphQLURL is the GraphQL endpoint; derived from RESTURL when empty.
	GraphQLURL string
	// Transport sends one attempt of a request; a tuned http.Transport when nil.
	Transport http.RoundTripper
	// Logger receives retries and waits. Its zero value is silent.
	Logger zerolog.Logger
	// Observer is told of calls and waits; nil: nobody is.
	Observer Observer
	// Now is the clock for token ages and rate limits; time.Now when nil.
	Now func() time.Time
	// UserAgent is sent with every request; GitHub refuses requests without one.
	UserAgent string
	// Limits bounds calls; its zero fields take their documented defaults.
	Limits Limits
}

// Host reaches GitHub as one App. It is safe for concurrent use, and all its
// clients share connections, tokens, pacing and caches.
type Host struct {
	appID   int64
	rest    *gh.Client // builds REST requests; it never sends one
	graphql string
	hosts   []string // the only ones that are given a token
	http    *http.Client
	limits  Limits
	clock   clock
	state   *installations
	rules   *rulesCache
	apps    *appCache
	minter  *minter
}

// New returns a Host. It makes no request.
func New(o Options) (*Host, error) {
	if o.AppID <= 0 {
		return nil, fmt.Errorf("github app id %d: want the positive number on the App's settings page", o.AppID)
	}
	h, err := newHost(o)
	if err != nil {
		return nil, err
	}
	signer, err := newSigner(o.PrivateKeyPEM, o.clock())
	if err != nil {
		return nil, err
	}
	wire := h.wire(o)
	if h.minter, err = newMinter(h, wire, signer, o.Logger); err != nil {
		return nil, err
	}
	h.connect(wire, h.minter)
	return h, nil
}

// newHost is a Host without a way to authenticate.
func newHost(o Options) (*Host, error) {
	limits, err := o.Limits.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("github limits: %w", err)
	}
	rest, graphql, err := endpoints(o.RESTURL, o.GraphQLURL)
	if err != nil {
		return nil, err
	}
	h := &Host{
		appID: o.AppID, graphql: graphql.String(), hosts: []string{rest.Host, graphql.Host}, limits: limits, clock: o.clock(),
		rest:  gh.NewClient(nil),
		rules: newRulesCache(limits.RulesTTL), apps: &appCache{bySlug: make(map[string]keptApp)},
	}
	h.rest.BaseURL = rest
	h.rest.UserAgent = o.userAgent()
	h.state = newInstallations(limits)
	return h, nil
}

// connect puts authentication above the wire.
func (h *Host) connect(wire http.RoundTripper, tokens tokens) {
	h.http = &http.Client{
		Transport: &authenticate{
			next:  &revalidate{next: wire, cache: newETags()},
			state: h.state, tokens: tokens, clock: h.clock, margin: h.limits.TokenMargin, hosts: h.hosts,
		},
		CheckRedirect: sameHost(h.hosts),
	}
}

// wire is the part of the transport below authentication, shared by the calls
// of installations and those that mint their tokens.
func (h *Host) wire(o Options) http.RoundTripper {
	base := o.Transport
	if base == nil {
		base = newTransport(h.limits.CallTimeout)
	}
	watch := o.Observer
	if watch == nil {
		watch = unobserved{}
	}
	one := &observed{next: &exchange{next: base, limits: h.limits}, to: watch}
	paced := &pace{next: one, state: h.state, inPlace: h.limits.WaitInPlace, clock: h.clock, watch: watch}
	closed := &circuit{next: paced, clock: h.clock, watch: watch, log: o.Logger}
	retried := &retry{next: closed, limits: h.limits, clock: h.clock, log: o.Logger}
	return &obeyLimits{next: retried, state: h.state, inPlace: h.limits.WaitInPlace, clock: h.clock, log: o.Logger, watch: watch}
}

// AppID is our App's id.
func (h *Host) AppID() int64 { return h.appID }

// SetShare says how many replicas ask GitHub for the same installations, this one
// included: each uses its part of what GitHub allows.
func (h *Host) SetShare(n int) { h.state.setShare(n) }

// Forget drops the installation's token: a token keeps the permissions that it
// was made with, so one made before the owner granted more goes on being refused
// (case 73). A token that is being minted right now is fresh enough.
func (h *Host) Forget(installation int64) {
	inst := h.state.get(installation)
	select {
	case inst.turn <- struct{}{}:
		inst.token = token{}
		inst.unlock()
	default:
	}
}

// Client returns the client of an installation. Clients are cheap: what is
// worth keeping is kept in the Host.
func (h *Host) Client(installation int64) (forge.Client, error) {
	if installation <= 0 {
		return nil, &forge.Error{Kind: forge.KindInvalid, Op: fmt.Sprintf("open installation %d", installation), Err: errors.New("want a positive installation id")}
	}
	return &Client{host: h, installation: installation}, nil
}

// Client is one installation's view of GitHub.
type Client struct {
	host         *Host
	installation int64
}

var (
	_ forge.Host   = (*Host)(nil)
	_ forge.Client = (*Client)(nil)
)

func (o Options) clock() clock {
	if o.Now == nil {
		return clock{now: time.Now}
	}
	return clock{now: o.Now}
}

func (o Options) userAgent() string {
	if o.UserAgent == "" {
		return "countersign"
	}
	return o.UserAgent
}

const defaultREST = "https://api.github.com/"

// endpoints parses both roots. GitHub Enterprise Server has its REST API under
// /api/v3/ and GraphQL beside it, so one URL is enough.
func endpoints(rest, graphql string) (r, g *url.URL, err error) {
	if rest == "" {
		rest = defaultREST
	}
	if r, err = parseEndpoint("rest", rest); err != nil {
		return nil, nil, err
	}
	if !strings.HasSuffix(r.Path, "/") {
		r.Path += "/"
	}
	if graphql == "" {
		graphql = strings.TrimSuffix(r.String(), "v3/") + "graphql"
	}
	if g, err = parseEndpoint("graphql", graphql); err != nil {
		return nil, nil, err
	}
	return r, g, nil
}

func parseEndpoint(what, raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("github %s url: not a url", what) // the text may hold credentials
	}
	if (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("github %s url: want https://HOST/PATH without credentials or query", what)
	}
	return u, nil
}

// newTransport is tuned for many small calls to one host.
func newTransport(timeout time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           128,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		ResponseHeaderTimeout:  timeout,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// errRedirect refuses a redirect that GitHub does not make.
var errRedirect = errors.New("redirected to another host, to another method, or too often")

// maxRedirects is one more than a rename followed by a transfer needs.
const maxRedirects = 3

// sameHost follows GitHub's redirects for renamed repositories and none that
// would carry a token to another host.
func sameHost(hosts []string) func(*http.Request, []*http.Request) error {
	return func(req *http.Request, via []*http.Request) error {
		// A write that comes again as a read would look as if it had been done.
		if len(via) > maxRedirects || req.Method != via[0].Method || !isOneOf(req.URL.Host, hosts) || req.URL.Scheme != via[0].URL.Scheme {
			return errRedirect
		}
		return nil
	}
}

func isOneOf(host string, hosts []string) bool {
	for _, h := range hosts {
		if host == h {
			return true
		}
	}
	return false
}
