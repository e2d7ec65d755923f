// Package apicheck holds HTTP traffic with GitHub against GitHub's own published API description. Put
// around a client it judges our requests whatever answers them; put around the simulator it judges
// the simulator too. It knows the description and nothing of what is behind the traffic.
package apicheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"sort"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// maxViolations bounds what is kept: after so many the point is made.
const maxViolations = 500

// Checker collects what does not fit the description. It is safe for concurrent use.
type Checker struct {
	doc   *openapi3.T
	ops   []operation
	hooks map[string]*openapi3.Schema // by key, e.g. pull-request-opened

	mu         sync.Mutex
	violations []string
	seen       map[string]int
}

type operation struct {
	id      string
	method  string
	pattern *regexp.Regexp
	names   []string
	literal int // characters outside of parameters: the more, the more specific
	route   routers.Route
}

// Open loads a description made by the reduce command (testdata/github/api-reduced.json).
func Open(path string) (*Checker, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read GitHub's API description: %w", err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		return nil, fmt.Errorf("load GitHub's API description %s: %w", path, err)
	}
	doc.Servers = openapi3.Servers{{URL: "/"}}
	c := &Checker{doc: doc, hooks: map[string]*openapi3.Schema{}, seen: map[string]int{}}
	for template, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			c.ops = append(c.ops, newOperation(doc, template, item, method, op))
		}
	}
	sort.Slice(c.ops, func(i, j int) bool { return c.ops[i].literal > c.ops[j].literal })
	return c, c.loadHooks(raw)
}

// Fork returns a checker of the same description with violations of its own: loading takes a while.
func (c *Checker) Fork() *Checker {
	return &Checker{doc: c.doc, ops: c.ops, hooks: c.hooks, seen: map[string]int{}}
}

// wide tells whether a path parameter holds slashes: those so marked, and a branch's name.
func wide(name string, item *openapi3.PathItem, op *openapi3.Operation) bool {
	for _, params := range []openapi3.Parameters{item.Parameters, op.Parameters} {
		if p := params.GetByInAndName(openapi3.ParameterInPath, name); p != nil && p.Extensions["x-multi-segment"] != nil {
			return true
		}
	}
	return name == "branch"
}

func newOperation(doc *openapi3.T, template string, item *openapi3.PathItem, method string, op *openapi3.Operation) operation {
	o := operation{
		id: op.OperationID, method: method,
		route: routers.Route{Spec: doc, Server: doc.Servers[0], Path: template, PathItem: item, Method: method, Operation: op},
	}
	parameter := regexp.MustCompile(`\{([^}]+)\}`)
	var b strings.Builder
	b.WriteString("^")
	last := 0
	for _, m := range parameter.FindAllStringSubmatchIndex(template, -1) {
		b.WriteString(regexp.QuoteMeta(template[last:m[0]]))
		o.literal += m[0] - last
		name := template[m[2]:m[3]]
		o.names = append(o.names, name)
		part := "([^/]+)"
		if wide(name, item, op) && m[1] == len(template) {
			part = "(.+)"
		}
		b.WriteString(part)
		last = m[1]
	}
	b.WriteString(regexp.QuoteMeta(template[last:]) + "$")
	o.literal += len(template) - last
	o.pattern = regexp.MustCompile(b.String())
	return o
}

// loadHooks finds the schema of each webhook; the loader does not follow references in x-webhooks.
func (c *Checker) loadHooks(raw []byte) error {
	var file struct {
		Hooks map[string]struct {
			Post struct {
				Body struct {
					Content map[string]struct {
						Schema struct {
							Ref string `json:"$ref"`
						} `json:"schema"`
					} `json:"content"`
				} `json:"requestBody"`
			} `json:"post"`
		} `json:"x-webhooks"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return fmt.Errorf("read the webhooks of GitHub's API description: %w", err)
	}
	for key, hook := range file.Hooks {
		name := strings.TrimPrefix(hook.Post.Body.Content["application/json"].Schema.Ref, "#/components/schemas/")
		ref := c.doc.Components.Schemas[name]
		if ref == nil || ref.Value == nil {
			return fmt.Errorf("webhook %s of GitHub's API description: no schema %q", key, name)
		}
		c.hooks[key] = ref.Value
	}
	return nil
}

// Operations lists what the description has, as method and path template.
func (c *Checker) Operations() []string {
	var out []string
	for _, o := range c.ops {
		out = append(out, o.method+" "+o.route.Path)
	}
	sort.Strings(out)
	return out
}

// Violations lists what did not fit so far, each once.
func (c *Checker) Violations() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.violations...)
}

// Reset forgets the violations.
func (c *Checker) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.violations, c.seen = nil, map[string]int{}
}

func (c *Checker) report(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen[text]++
	if c.seen[text] == 1 && len(c.violations) < maxViolations {
		c.violations = append(c.violations, text)
	}
}

// find returns the operation for a request and its path parameters.
func (c *Checker) find(method, path string) (operation, map[string]string, bool) {
	for _, o := range c.ops {
		if o.method != method {
			continue
		}
		m := o.pattern.FindStringSubmatch(path)
		if m == nil {
			continue
		}
		params := map[string]string{}
		for i, name := range o.names {
			params[name] = m[i+1]
		}
		return o, params, true
	}
	return operation{}, nil, false
}

func options() *openapi3filter.Options {
	return &openapi3filter.Options{
		MultiError: true, IncludeResponseStatus: true, SkipSettingDefaults: true,
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
	}
}

// flatten takes a multi-error apart and shortens each message to its first lines: the rest is the
// schema, which is long and in the file.
func flatten(err error) []string {
	if err == nil {
		return nil
	}
	var multi openapi3.MultiError
	if errors.As(err, &multi) && len(multi) > 0 {
		var out []string
		for _, e := range multi {
			out = append(out, flatten(e)...)
		}
		return out
	}
	text := err.Error()
	var reqErr *openapi3filter.RequestError
	var respErr *openapi3filter.ResponseError
	switch {
	case errors.As(err, &reqErr) && reqErr.Err != nil:
		if inner := flatten(reqErr.Err); len(inner) > 1 {
			return inner
		}
	case errors.As(err, &respErr) && respErr.Err != nil:
		if inner := flatten(respErr.Err); len(inner) > 1 {
			return inner
		}
	}
	if i := strings.Index(text, "\nSchema:"); i >= 0 {
		text = text[:i]
	}
	return []string{strings.TrimSpace(text)}
}

// methodHasBody tells which requests carry one.
func methodHasBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPatch || method == http.MethodPut
}
