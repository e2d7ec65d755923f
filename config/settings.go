// Package config reads the server's settings: environment first, then an
// optional YAML file, secrets also from files. It reports every fault at once,
// each with the setting's name, where it was read and what would be right, and
// never a secret's value. Policies of repositories are config/policy's.
package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/countersign/countersign/review/permission"
)

// Settings are what `countersign serve` runs with. GitHub's names are those of
// go-githubapp, so that an operator of another App finds them where expected.
type Settings struct {
	// ListenAddr is where the webhook is served.
	ListenAddr string
	// OpsAddr is where metrics, health and readiness are served for operators;
	// empty: no metrics.
	OpsAddr string
	// Drain is how long deliveries are still taken after a stop was asked for and
	// /readyz says so: what a balancer needs to notice.
	Drain time.Duration
	// V3URL and V4URL are GitHub's REST and GraphQL endpoints, without a trailing
	// slash. An empty V4URL follows from V3URL.
	V3URL, V4URL string
	// AppID is the App's id ("integration id").
	AppID int64
	// WebhookSecrets holds the current secret and, during rotation, the previous
	// one. Never empty: without a secret there is no start.
	WebhookSecrets [][]byte
	// PrivateKey is the App's RSA key, PEM.
	PrivateKey []byte
	// Database is the path of the embedded SQLite database, used without DatabaseURL.
	Database string
	// DatabaseURL names a PostgreSQL that any number of replicas share; Connections
	// bounds those of one replica, and Replica is its name among the others.
	DatabaseURL string
	Connections int
	Replica     string
	// Mode stands in for the policy's mode until policy files are read.
	Mode permission.Mode
	// Debounce is how long CI events of a head are gathered before the gate is
	// recomputed (DESIGN section 2: 10 s).
	Debounce time.Duration
	// Settle is how long a pull request rests after a session was superseded, so
	// that a burst of pushes becomes one more session and not fifty.
	Settle time.Duration
	// Reconcile is how often each repository is looked through for pull requests that
	// no event told of.
	Reconcile time.Duration
	// Workers is how many pull requests are worked on at the same time.
	Workers int
	// WritesPerMinute paces what is written to GitHub for one installation.
	// GitHub's secondary limit is about 80 content-creating calls a minute; an
	// Enterprise Server without rate limits takes more.
	WritesPerMinute int
	WritesPerHour   int
	// CallTimeout is the deadline of one attempt of a call to GitHub.
	CallTimeout time.Duration
	LogLevel    string
}

// setting is one row of the table: how it is called, what it defaults to, how
// it is read. The YAML key is the name in lower case.
type setting struct {
	name     string
	fallback string
	secret   bool // also read from NAME_FILE; its value is never shown
	required bool
	doc      string
	set      func(*Settings, string) error
}

func table() []setting {
	return []setting{
		{name: "LISTEN_ADDR", fallback: ":8080", doc: "address of the webhook, /healthz and /readyz", set: addrInto(func(s *Settings) *string { return &s.ListenAddr })},
		{name: "COUNTERSIGN_OPS_ADDR", doc: "address of /metrics, and of /healthz and /readyz once more, such as 127.0.0.1:9464; not for the public; unset: no metrics", set: setOpsAddr},
		{name: "COUNTERSIGN_DRAIN", fallback: "3s", doc: "how long deliveries are still taken after a stop was asked for, while /readyz answers 503", set: durationInto(func(s *Settings) *time.Duration { return &s.Drain }, 0, time.Minute)},
		{name: "GITHUB_V3_API_URL", fallback: "https://api.github.com", doc: "GitHub's REST API", set: urlInto(func(s *Settings) *string { return &s.V3URL })},
		{name: "GITHUB_V4_API_URL", doc: "GitHub's GraphQL API; derived from GITHUB_V3_API_URL when unset", set: setV4},
		{name: "COUNTERSIGN_GITHUB_TIMEOUT", fallback: "30s", doc: "how long one attempt of a call to GitHub may take", set: durationInto(func(s *Settings) *time.Duration { return &s.CallTimeout }, time.Second, 2*time.Minute)},
		{name: "GITHUB_APP_INTEGRATION_ID", required: true, doc: "the App's id, from its settings page", set: func(s *Settings, v string) error {
			id, err := strconv.ParseInt(v, 10, 64)
			if err != nil || id <= 0 {
				return errors.New("want the App's numeric id, as on its settings page")
			}
			s.AppID = id
			return nil
		}},
		{name: "GITHUB_APP_WEBHOOK_SECRET", required: true, secret: true, doc: "the webhook secret of the App", set: addSecret},
		{name: "GITHUB_APP_WEBHOOK_SECRET_PREVIOUS", secret: true, doc: "the secret before, while GitHub still signs with it", set: addSecret},
		{name: "GITHUB_APP_PRIVATE_KEY", required: true, secret: true, doc: "the App's private key, PEM", set: setPrivateKey},
		{name: "DATABASE_URL", secret: true, doc: "a PostgreSQL that any number of replicas share, postgres://USER:PASSWORD@HOST:PORT/NAME; unset: the embedded database", set: setDatabaseURL},
		{name: "COUNTERSIGN_REPLICA", fallback: hostName(), doc: "this process's name among those that share a PostgreSQL; each needs its own, and one that stays the same over restarts has its work back at once", set: func(s *Settings, v string) error {
			if len(v) > 200 || strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' }) {
				return errors.New("want a name of letters, digits and signs, without spaces")
			}
			s.Replica = v
			return nil
		}},
		{name: "COUNTERSIGN_DATABASE_CONNECTIONS", fallback: "16", doc: "connections of one process to PostgreSQL, besides three for notifications and its name", set: countInto(func(s *Settings) *int { return &s.Connections }, 1000)},
		{name: "COUNTERSIGN_DATABASE", fallback: "countersign.db", doc: "path of the embedded database", set: func(s *Settings, v string) error {
			if strings.ContainsAny(v, "?\x00") || strings.Contains(v, "://") {
				return errors.New("want a file's path, not a URL")
			}
			s.Database = v
			return nil
		}},
		{name: "COUNTERSIGN_MODE", fallback: "observe", doc: "observe, auto or radical, for every repository until policy files are read", set: func(s *Settings, v string) error {
			m, err := permission.ParseMode(v)
			s.Mode = m
			return err
		}},
		{name: "COUNTERSIGN_DEBOUNCE", fallback: "10s", doc: "how long a head's CI events are gathered before the gate is recomputed", set: durationInto(func(s *Settings) *time.Duration { return &s.Debounce }, 0, 5*time.Minute)},
		{name: "COUNTERSIGN_SETTLE", fallback: "2s", doc: "how long a pull request rests after a push superseded its session", set: durationInto(func(s *Settings) *time.Duration { return &s.Settle }, 0, time.Minute)},
		{name: "COUNTERSIGN_RECONCILE", fallback: "1h", doc: "how often each repository is looked through for pull requests whose events were lost: one call to GitHub, none where nothing is open", set: durationInto(func(s *Settings) *time.Duration { return &s.Reconcile }, 5*time.Minute, 24*time.Hour)},
		{name: "COUNTERSIGN_WORKERS", fallback: "8", doc: "pull requests worked on at the same time", set: countInto(func(s *Settings) *int { return &s.Workers }, 256)},
		{name: "COUNTERSIGN_WRITES_PER_MINUTE", fallback: "80", doc: "what may be written to GitHub a minute for one installation: check runs, reviews; GitHub's own limit is about 80", set: countInto(func(s *Settings) *int { return &s.WritesPerMinute }, 1_000_000)},
		{name: "COUNTERSIGN_WRITES_PER_HOUR", doc: "the same an hour; unset: 500, about GitHub's own limit, or more in proportion to COUNTERSIGN_WRITES_PER_MINUTE", set: countInto(func(s *Settings) *int { return &s.WritesPerHour }, 10_000_000)},
		{name: "LOG_LEVEL", fallback: "info", doc: "debug, info, warn or error", set: func(s *Settings, v string) error {
			if !slices.Contains([]string{"debug", "info", "warn", "error"}, v) {
				return errors.New("want debug, info, warn or error")
			}
			s.LogLevel = v
			return nil
		}},
	}
}

// Doc is one line of the settings' reference.
type Doc struct{ Name, Default, Meaning string }

// Reference lists every setting, in the order in which they are read.
func Reference() []Doc {
	var out []Doc
	for _, s := range table() {
		d := Doc{Name: s.name, Default: s.fallback, Meaning: s.doc}
		if s.required {
			d.Default = "required"
		}
		out = append(out, d)
	}
	return out
}

func addrInto(field func(*Settings) *string) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		if _, port, err := net.SplitHostPort(v); err != nil || port == "" {
			return errors.New("want host:port, such as :8080 or 127.0.0.1:8080")
		}
		*field(s) = v
		return nil
	}
}

// hostName is what a replica is called by default.
func hostName() string {
	if name, err := os.Hostname(); err == nil && name != "" {
		return name
	}
	return "countersign"
}

// setDatabaseURL looks at the URL's form only. What is wrong is said without it: it
// holds a password.
func setDatabaseURL(s *Settings, v string) error {
	const want = "want postgres://USER:PASSWORD@HOST:PORT/NAME, with characters such as @ and / in the password percent-encoded"
	u, err := url.Parse(v)
	switch {
	case err != nil:
		return errors.New("is no URL; " + want)
	case u.Scheme != "postgres" && u.Scheme != "postgresql":
		return errors.New("is not of PostgreSQL; " + want)
	case strings.Trim(u.Path, "/") == "":
		return errors.New("names no database; " + want)
	}
	s.DatabaseURL = v
	return nil
}

// setOpsAddr refuses the webhook's address: whoever can deliver could read the
// metrics there.
func setOpsAddr(s *Settings, v string) error {
	_, port, _ := net.SplitHostPort(v)
	if v == s.ListenAddr && port != "0" {
		return errors.New("is LISTEN_ADDR; want an address of its own, such as 127.0.0.1:9464: metrics are not for whoever can deliver")
	}
	return addrInto(func(s *Settings) *string { return &s.OpsAddr })(s, v)
}

// setV4 refuses another host than the REST API's: both are sent the same tokens.
func setV4(s *Settings, v string) error {
	if err := urlInto(func(s *Settings) *string { return &s.V4URL })(s, v); err != nil {
		return err
	}
	rest, err := url.Parse(s.V3URL)
	graphql, err2 := url.Parse(s.V4URL)
	if err == nil && err2 == nil && rest.Host != "" && rest.Host != graphql.Host {
		return fmt.Errorf("is on %s while GITHUB_V3_API_URL is on %s; both are sent the same tokens, so want one host, or leave it unset", graphql.Host, rest.Host)
	}
	if err == nil && err2 == nil && rest.Scheme != "" && rest.Scheme != graphql.Scheme {
		return fmt.Errorf("is %s while GITHUB_V3_API_URL is %s; both are sent the same tokens, and http shows them to the network: want https for both, or leave it unset", graphql.Scheme, rest.Scheme)
	}
	return nil
}

func countInto(field func(*Settings) *int, most int) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > most {
			return fmt.Errorf("want a number from 1 to %d", most)
		}
		*field(s) = n
		return nil
	}
}

func urlInto(field func(*Settings) *string) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		u, err := url.Parse(v)
		if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return errors.New("want an absolute http(s) URL without user, query or fragment, such as https://api.github.com")
		}
		*field(s) = strings.TrimRight(v, "/")
		return nil
	}
}

func durationInto(field func(*Settings) *time.Duration, low, high time.Duration) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		d, err := time.ParseDuration(v)
		if err != nil || d < low || d > high {
			return fmt.Errorf("want a duration from %s to %s, such as 10s", low, high)
		}
		*field(s) = d
		return nil
	}
}
