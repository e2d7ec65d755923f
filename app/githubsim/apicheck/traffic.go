package apicheck

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3filter"
)

// maxBody bounds what is read of one body.
const maxBody = 32 << 20

// Transport checks every request and answer that goes through a client.
func (c *Checker) Transport(next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return transport{c, next}
}

type transport struct {
	c    *Checker
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, maxBody)); err != nil {
			return nil, fmt.Errorf("read request to check it: %w", err)
		}
		_ = r.Body.Close()
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	resp, err := t.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	if err != nil {
		return nil, fmt.Errorf("read answer to check it: %w", err)
	}
	t.c.Check(r, body, resp.StatusCode, resp.Header, answer)
	return resp, nil
}

// Handler checks every request and answer of a server.
func (c *Checker) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		kept := r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
		rec := &recorder{header: http.Header{}, status: http.StatusOK}
		next.ServeHTTP(rec, r)
		c.Check(kept, body, rec.status, rec.header, rec.body.Bytes())
		for k, v := range rec.header {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.status)
		_, _ = w.Write(rec.body.Bytes())
	})
}

type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }

// Check judges one request and its answer.
func (c *Checker) Check(r *http.Request, body []byte, status int, header http.Header, answer []byte) {
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/api/v3")
	op, params, found := c.find(r.Method, path)
	if !found {
		if !allowed(r.Method, path) {
			c.report("%s %s: no such operation in GitHub's description", r.Method, path)
		}
		return
	}
	for name, v := range params {
		if plain, err := url.PathUnescape(v); err == nil {
			params[name] = plain
		}
	}
	req := r.Clone(context.Background())
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.ContentLength = int64(len(body))
	route := op.route
	in := &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: &route, Options: options()}
	if methodHasBody(r.Method) && len(body) == 0 {
		in.Options.ExcludeRequestBody = true
	}
	for _, problem := range flatten(openapi3filter.ValidateRequest(req.Context(), in)) {
		c.judge(op.id, "request", problem)
	}
	for _, problem := range missed(op.id, body) {
		c.report("%s request: %s", op.id, problem)
	}
	if status == http.StatusNotModified || status >= 500 || mediaType(r, "raw") || mediaType(r, "diff") || mediaType(r, "sha") {
		return // nothing to judge, or undeclared: a broken server, raw text
	}
	out := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: in, Status: status, Header: header, Options: options(),
	}
	out.SetBodyBytes(answer)
	for _, problem := range flatten(openapi3filter.ValidateResponse(context.Background(), out)) {
		c.judge(op.id, fmt.Sprintf("answer %d", status), problem)
	}
}

// judge reports a problem unless it is a known false alarm.
func (c *Checker) judge(op, where, problem string) {
	for _, e := range exceptions() {
		if e.covers(op, where, problem) {
			return
		}
	}
	c.report("%s %s: %s", op, where, problem)
}

func mediaType(r *http.Request, kind string) bool {
	return strings.Contains(r.Header.Get("Accept"), "vnd.github."+kind) || strings.Contains(r.Header.Get("Accept"), "vnd.github.v3."+kind)
}
