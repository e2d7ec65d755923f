package githubsim

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// maxBody bounds a request's body; GitHub's largest legal request here is far smaller.
const maxBody = 10 << 20

// obj is a JSON object.
type obj = map[string]any

// who may call a route.
type audience int

const (
	anyToken audience = iota // an installation's or a person's token
	appOnly                  // an App's JWT
)

// route is one operation. A pattern is a method and a path template; {name...} takes the rest of the path.
type route struct {
	pattern string
	who     audience
	// needs is the permission asked for, "contents:read"; alternatives are joined by |. Empty means
	// that a token is enough (GitHub's metadata permission is always there).
	needs string
	run   func(*call) (*reply, error)
}

// reply is an answer before it is written.
type reply struct {
	status int    // 0 means 200
	body   any    // JSON
	raw    []byte // instead of body
	ctype  string // of raw
	header map[string]string
}

// apiError is a refusal in GitHub's form.
type apiError struct {
	status  int
	message string
	errors  []any
	header  map[string]string
	doc     string // documentation_url; empty means the general one
	instead *reply // what is answered in place of all that
}

func (e *apiError) Error() string { return e.message }

func refuse(status int, message string, errs ...any) *apiError {
	return &apiError{status: status, message: message, errors: errs}
}

func notFound() *apiError { return refuse(http.StatusNotFound, "Not Found") }

// invalid is GitHub's 422 for one field.
func invalid(resource, field, code, message string) *apiError {
	e := obj{"resource": resource, "field": field, "code": code}
	if message != "" {
		e["message"] = message
	}
	return refuse(http.StatusUnprocessableEntity, "Validation Failed", e)
}

// routes lists every operation, by subject.
func (s *Sim) routes() []route {
	var all []route
	for _, group := range [][]route{
		appRoutes(), repoRoutes(), contentRoutes(), gitRoutes(), peopleRoutes(), pullRoutes(), reviewRoutes(), reviewCommentRoutes(),
		checkRoutes(), statusRoutes(), issueRoutes(), hookRoutes(), graphqlRoutes(),
	} {
		all = append(all, group...)
	}
	return all
}

// ServeHTTP answers like api.github.com; GitHub Enterprise's prefixes /api/v3 and /api are accepted.
func (s *Sim) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, prefix := range []string{"/api/v3", "/api"} {
		if strings.HasPrefix(r.URL.Path, prefix+"/") {
			r = r.Clone(r.Context())
			r.URL.Path = strings.TrimPrefix(r.URL.Path, prefix)
			r.URL.RawPath = strings.TrimPrefix(r.URL.RawPath, prefix)
			break
		}
	}
	// The body is read before anything waits for it: a slow caller holds nobody up, and one that gives up
	// is noticed.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	kept := &readBody{Reader: bytes.NewReader(body), err: err}
	r.Body = kept
	found := s.router.find(r)
	entry := Request{
		Time: s.opts.Clock().UTC(), Method: r.Method, Route: found.template(), Path: r.URL.Path, Query: r.URL.RawQuery, Auth: "none",
	}
	if entry.Route == "/graphql" {
		entry.Operation, kept.mutation = operationOf(body)
	}
	s.serveFaulty(&recorder{ResponseWriter: w, entry: &entry, journal: &s.journal}, r, found)
}

// readBody is a body that was read before, with the error that ended it.
type readBody struct {
	*bytes.Reader
	err      error
	mutation bool // it is a GraphQL mutation
}

// Close implements io.Closer.
func (b *readBody) Close() error { return nil }

// Read implements io.Reader.
func (b *readBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) && b.err != nil {
		err = b.err
	}
	return n, err
}

// serve answers without faults: who asks, whether they may, the work under the lock, the answer.
func (s *Sim) serve(w *recorder, r *http.Request, found *compiled) {
	if found == nil {
		s.write(w, r, nil, notFound())
		return
	}
	c := &call{sim: s, r: r, stale: w.stale}
	c.body, _ = r.Body.(*readBody)
	s.mu.Lock()
	rep, err := found.answer(c)
	header := s.limitHeader(c)
	s.mu.Unlock()
	w.entry.Auth, w.entry.App, w.entry.Installation = c.me.kind(), c.me.slug(), c.me.installation()
	for k, v := range header {
		w.Header().Set(k, v)
	}
	if c.link != "" {
		w.Header().Set("Link", c.link)
	}
	w.unchanged = func() { s.refund(c) }
	if w.after != nil {
		w.after(*w.entry)
	}
	s.write(w, r, rep, err)
}

// recorder writes the request log when the answer begins: who has read an answer finds it there.
type recorder struct {
	http.ResponseWriter
	entry   *Request
	journal *journal // nil where the answer goes nowhere
	stale   bool     // lists are to lack what was written last
	// unchanged is called before a 304, which costs nothing.
	unchanged func()
	after     func(Request) // called when the work is done and nothing is answered yet
}

func (w *recorder) WriteHeader(status int) {
	w.log(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) log(status int) {
	w.entry.Status = status
	if w.journal != nil {
		w.journal.add(*w.entry)
	}
}

func (rt route) answer(c *call) (*reply, error) {
	if err := c.identify(); err != nil {
		return nil, err
	}
	if rt.who == appOnly && c.me.app == nil {
		return nil, refuse(http.StatusUnauthorized, "A JSON web token could not be decoded")
	}
	if rt.who != appOnly && c.me.app != nil {
		return nil, refuse(http.StatusForbidden, "Resource not accessible by integration")
	}
	if err := c.sim.spend(c); err != nil {
		return nil, err
	}
	if err := c.findRepo(); err != nil {
		return nil, err
	}
	if err := c.need(rt.needs); err != nil {
		return nil, err
	}
	return rt.run(c)
}

// write sends an answer. GETs carry an ETag and are answered 304 when the caller has it already.
func (s *Sim) write(w *recorder, r *http.Request, rep *reply, err error) {
	h := w.Header()
	h.Set("X-GitHub-Request-Id", strings.ToUpper(newGUID()[:18]))
	h.Set("Date", s.opts.Clock().UTC().Format(http.TimeFormat)) // a client may tell its own clock's error by it
	h.Set("X-GitHub-Media-Type", "github.v3; format=json")
	if err != nil {
		rep = errorReply(err)
		var ae *apiError
		if !errors.As(err, &ae) {
			s.log.Error("simulated GitHub failed", "method", r.Method, "path", r.URL.Path, "error", err)
		}
	}
	for k, v := range rep.header {
		h.Set(k, v)
	}
	body, ctype := rep.raw, rep.ctype
	if rep.raw == nil && rep.body != nil {
		var jerr error
		if body, jerr = json.Marshal(rep.body); jerr != nil {
			s.log.Error("simulated GitHub failed", "method", r.Method, "path", r.URL.Path, "error", jerr)
			rep, body = &reply{status: http.StatusInternalServerError}, []byte(`{"message":"Server Error"}`)
		}
		ctype = "application/json; charset=utf-8"
	}
	status := rep.status
	if status == 0 {
		status = http.StatusOK
	}
	if r.Method == http.MethodGet && status == http.StatusOK {
		sum := sha256.Sum256(append([]byte(r.Header.Get("Accept")+h.Get("Link")), body...))
		tag := `W/"` + hex.EncodeToString(sum[:16]) + `"`
		h.Set("ETag", tag)
		h.Set("Cache-Control", "private, max-age=60, s-maxage=60")
		h.Set("Vary", "Accept, Authorization, Cookie, X-GitHub-OTP")
		if strings.TrimPrefix(r.Header.Get("If-None-Match"), "W/") == strings.TrimPrefix(tag, "W/") {
			w.entry.NotModified = true
			if w.unchanged != nil {
				w.unchanged()
			}
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	if len(body) > 0 {
		h.Set("Content-Type", ctype)
		h.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(body) // the caller may be gone
}

func errorReply(err error) *reply {
	var ae *apiError
	if !errors.As(err, &ae) {
		ae = refuse(http.StatusInternalServerError, "Server Error: "+err.Error())
	}
	if ae.instead != nil {
		return ae.instead
	}
	doc := ae.doc
	if doc == "" {
		doc = "https://docs.github.com/rest"
	}
	body := obj{"message": ae.message, "documentation_url": doc, "status": strconv.Itoa(ae.status)}
	if len(ae.errors) > 0 {
		body["errors"] = ae.errors
	}
	return &reply{status: ae.status, body: body, header: ae.header}
}
