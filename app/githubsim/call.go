package githubsim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// call is one request while it is answered, under the simulator's lock.
type call struct {
	sim  *Sim
	r    *http.Request
	body *readBody
	me   identity
	repo *Repo // of routes below /repos/{owner}/{repo}
	link string
	free bool // costs nothing (rate_limit)
	// stale lists lack what was written last.
	stale bool
}

func (c *call) path(name string) string { return c.r.PathValue(name) }

func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }

// id reads a numeric path value; anything else is a 404, as on GitHub.
func (c *call) id(name string) (int64, error) {
	n, err := strconv.ParseInt(c.path(name), 10, 64)
	if err != nil || n <= 0 {
		return 0, notFound()
	}
	return n, nil
}

// accepts tells whether the caller asked for a media type such as raw or diff.
func (c *call) accepts(kind string) bool {
	for _, v := range c.r.Header.Values("Accept") {
		for _, one := range strings.Split(v, ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(one), ";")
			if rest, ok := strings.CutPrefix(name, "application/vnd.github."); ok {
				for _, part := range strings.FieldsFunc(rest, func(r rune) bool { return r == '.' || r == '+' }) {
					if part == kind {
						return true
					}
				}
			}
		}
	}
	return false
}

// decode reads the JSON body. Unknown fields are ignored, as GitHub ignores them.
func (c *call) decode(into any) error {
	body, err := io.ReadAll(c.r.Body)
	if err != nil {
		return refuse(http.StatusRequestEntityTooLarge, "Request body is too large")
	}
	if len(body) == 0 {
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		var te *json.UnmarshalTypeError
		if errors.As(err, &te) {
			return refuse(http.StatusUnprocessableEntity, fmt.Sprintf("Invalid request.\n\nFor '%s', %s is not a %s.", te.Field, te.Value, te.Type))
		}
		return refuse(http.StatusBadRequest, "Problems parsing JSON")
	}
	return nil
}

// maxPerPage is the largest page of a list.
const maxPerPage = 100

// page cuts a list of n items to the page asked for (30 an answer, 100 at most) and sets the Link header.
func (c *call) page(n int) (from, to int) { return c.pageOf(n, 30) }

func (c *call) pageOf(n, size int) (from, to int) {
	if v, err := strconv.Atoi(c.query("per_page")); err == nil && v > 0 {
		size = min(v, maxPerPage)
	}
	page := 1
	if v, err := strconv.Atoi(c.query("page")); err == nil && v > 0 {
		page = min(v, 1_000_000)
	}
	if c.stale && n > 0 {
		n--
	}
	last := max((n+size-1)/size, 1)
	var links []string
	add := func(rel string, p int) {
		q := c.r.URL.Query()
		q.Set("page", strconv.Itoa(p))
		u := url.URL{Path: c.r.URL.Path, RawPath: c.r.URL.RawPath, RawQuery: q.Encode()}
		links = append(links, "<"+c.sim.url+u.String()+`>; rel="`+rel+`"`)
	}
	if page > 1 {
		add("prev", min(page-1, last))
	}
	if page < last {
		add("next", page+1)
		add("last", last)
	}
	if page > 1 {
		add("first", 1)
	}
	c.link = strings.Join(links, ", ")
	return min((page-1)*size, n), min(page*size, n)
}

// known is a list as a stale answer has it: without what was written last, by id. It is for lists that
// are not in order of creation; page takes the last entry of the others.
func known[T any](c *call, all []T, id func(T) int64) []T {
	if !c.stale || len(all) == 0 {
		return all
	}
	newest := slices.MaxFunc(all, func(a, b T) int { return cmp.Compare(id(a), id(b)) })
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return id(one) == id(newest) })
}

// knownAlone is known for an answer that is this one list.
func knownAlone[T any](c *call, all []T, id func(T) int64) []T {
	all = known(c, all, id)
	c.stale = false
	return all
}

// findRepo resolves {owner}/{repo}. What the caller may not see does not exist.
func (c *call) findRepo() error {
	owner, name := c.path("owner"), c.path("repo")
	if name == "" {
		return nil
	}
	repo := c.sim.repos[strings.ToLower(owner+"/"+name)]
	if repo == nil || c.me.app == nil && !c.me.sees(repo) {
		return notFound()
	}
	c.repo = repo
	return nil
}

// need refuses a caller without one of the permissions, "checks:write|statuses:write".
func (c *call) need(perms string) error {
	if perms == "" || c.me.app != nil {
		return nil
	}
	for _, p := range strings.Split(perms, "|") {
		if c.me.may(c.repo, p) {
			return nil
		}
	}
	if c.me.inst == nil {
		if strings.HasSuffix(perms, ":write") && c.repo != nil && c.me.user != nil {
			return refuse(http.StatusForbidden, "Must have write access to Repository.")
		}
		return notFound()
	}
	e := refuse(http.StatusForbidden, "Resource not accessible by integration")
	e.header = map[string]string{"X-Accepted-GitHub-Permissions": strings.NewReplacer(":", "=", "|", "; ").Replace(perms)}
	return e
}

// ok answers 200 with a JSON body.
func ok(body any) (*reply, error) { return &reply{body: body}, nil }

// created answers 201.
func created(body any) (*reply, error) { return &reply{status: http.StatusCreated, body: body}, nil }
