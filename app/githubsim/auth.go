package githubsim

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// tokenLifetime is how long an installation token works.
const tokenLifetime = time.Hour

// maxJWTLife is how far an App's JWT may expire after it is read.
const maxJWTLife = 10 * time.Minute

// token is an installation's or a person's access token.
type token struct {
	inst    *Installation // nil for a person's
	user    *account      // nil for an installation's
	perms   map[string]string
	repos   map[int64]bool // nil: every repository of the installation
	expires time.Time      // zero: never
	revoked bool
}

// identity is who asks.
type identity struct {
	app  *AppHandle // by JWT
	inst *Installation
	user *account
	tok  *token
}

func (m identity) kind() string {
	switch {
	case m.app != nil:
		return "app"
	case m.inst != nil:
		return "installation"
	case m.user != nil:
		return "user"
	}
	return "none"
}

func (m identity) slug() string {
	switch {
	case m.app != nil:
		return m.app.spec.Slug
	case m.inst != nil:
		return m.inst.app.spec.Slug
	}
	return ""
}

func (m identity) installation() int64 {
	if m.inst == nil {
		return 0
	}
	return m.inst.id
}

// account is whom writes are attributed to: slug[bot] for an installation.
func (m identity) account() *account {
	if m.inst != nil {
		return m.inst.app.bot
	}
	return m.user
}

// sees tells whether a repository exists for the caller.
func (m identity) sees(r *Repo) bool {
	switch {
	case r.deleted:
		return false
	case m.inst != nil:
		return m.inst.covers(r) && (m.tok.repos == nil || m.tok.repos[r.id])
	case m.user != nil:
		return !r.private || r.roleOf(m.user) != "none"
	}
	return false
}

// may tells whether the caller has a permission such as checks:write.
func (m identity) may(r *Repo, perm string) bool {
	name, level, _ := strings.Cut(perm, ":")
	if m.inst != nil {
		return covers(m.tok.perms[name], level)
	}
	if m.user == nil || name == "administration" && r != nil && r.roleOf(m.user) != "admin" {
		return false
	}
	if r == nil || level == "read" {
		return true
	}
	return roleWrites(r.roleOf(m.user))
}

// covers tells whether a granted permission level includes the one asked for.
func covers(granted, asked string) bool {
	rank := map[string]int{"read": 1, "write": 2, "admin": 3}
	return rank[granted] >= rank[asked] && rank[granted] > 0
}

// identify reads the Authorization header.
func (c *call) identify() error {
	scheme, text, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return refuse(http.StatusUnauthorized, "Requires authentication")
	case !strings.EqualFold(scheme, "bearer") && !strings.EqualFold(scheme, "token"):
		return badCredentials()
	case strings.Count(text, ".") == 2:
		app, err := c.sim.readJWT(text)
		c.me.app = app
		return err
	}
	t := c.sim.tokens[text]
	if t == nil || t.revoked || !t.expires.IsZero() && !c.sim.now().Before(t.expires) || t.inst != nil && t.inst.deleted {
		return badCredentials()
	}
	c.me = identity{inst: t.inst, user: t.user, tok: t}
	if t.inst != nil && t.inst.suspended {
		return suspended()
	}
	return nil
}

func badCredentials() *apiError { return refuse(http.StatusUnauthorized, "Bad credentials") }

func suspended() *apiError {
	return refuse(http.StatusForbidden, "This installation has been suspended")
}

// readJWT checks an App's JSON web token as GitHub does. It is written out here so that the check
// does not come from the library that makes the tokens.
func (s *Sim) readJWT(text string) (*AppHandle, error) {
	undecodable := refuse(http.StatusUnauthorized, "A JSON web token could not be decoded")
	parts := strings.Split(text, ".")
	var head struct {
		Alg string `json:"alg"`
	}
	var claims struct {
		Iss any      `json:"iss"`
		Iat *float64 `json:"iat"`
		Exp *float64 `json:"exp"`
	}
	if !jwtPart(parts[0], &head) || !jwtPart(parts[1], &claims) || head.Alg != "RS256" {
		return nil, undecodable
	}
	app := s.appByIssuer(claims.Iss)
	if app == nil || app.key == nil {
		return nil, refuse(http.StatusUnauthorized, "'Issuer' claim ('iss') must be an Integer or the App's client id")
	}
	sig, err := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err != nil || rsa.VerifyPKCS1v15(&app.key.PublicKey, crypto.SHA256, sum[:], sig) != nil {
		return nil, undecodable
	}
	now := float64(s.opts.Clock().Unix())
	switch {
	case claims.Exp == nil:
		return nil, refuse(http.StatusUnauthorized, "Missing 'expiration time' claim ('exp') in assertion")
	case claims.Iat == nil:
		return nil, refuse(http.StatusUnauthorized, "Missing 'issued at' claim ('iat') in assertion")
	case *claims.Exp <= now:
		return nil, refuse(http.StatusUnauthorized, "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires")
	case *claims.Iat > now:
		return nil, refuse(http.StatusUnauthorized, "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued")
	case *claims.Exp-*claims.Iat > maxJWTLife.Seconds(), *claims.Exp-now > maxJWTLife.Seconds():
		return nil, refuse(http.StatusUnauthorized, "'Expiration time' claim ('exp') is too far in the future")
	}
	return app, nil
}

func jwtPart(text string, into any) bool {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && json.Unmarshal(raw, into) == nil
}

func (s *Sim) appByIssuer(iss any) *AppHandle {
	switch v := iss.(type) {
	case float64:
		return s.apps[int64(v)]
	case string:
		if id, err := strconv.ParseInt(v, 10, 64); err == nil {
			return s.apps[id]
		}
		for _, a := range s.apps {
			if a.clientID() == v {
				return a
			}
		}
	}
	return nil
}
