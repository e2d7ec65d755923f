package githubsim

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/countersign/countersign/app/githubsim/gqlexec"
)

// packedSchema is GitHub's public GraphQL schema, made by apicheck/reduce.
//
//go:embed schema.graphql.gz
var packedSchema []byte

// maxSchema bounds the unpacked schema.
const maxSchema = 8 << 20

// gql is an object of the GraphQL API.
func gql(typ string, fields obj) gqlexec.Object { return gqlexec.Object{Type: typ, Fields: fields} }

// lazy is a field that is computed only when asked for.
func lazy(f func() (any, error)) gqlexec.Func {
	return func(gqlexec.Args) (any, error) { return f() }
}

// newExecutor reads the schema when the first query arrives: most tests never send one.
func newExecutor() func() (*gqlexec.Executor, error) {
	return sync.OnceValues(func() (*gqlexec.Executor, error) {
		r, err := gzip.NewReader(bytes.NewReader(packedSchema))
		if err != nil {
			return nil, fmt.Errorf("unpack GraphQL schema: %w", err)
		}
		text, err := io.ReadAll(io.LimitReader(r, maxSchema))
		if err != nil {
			return nil, fmt.Errorf("unpack GraphQL schema: %w", err)
		}
		return gqlexec.New(string(text))
	})
}

func graphqlRoutes() []route {
	return []route{{"POST /graphql", anyToken, "", runGraphQL}}
}

// operationOf tells the name of the operation that a request asks for, the one named or that of the
// first operation in the text, and whether that one is a mutation.
func operationOf(body []byte) (name string, mutation bool) {
	var in struct {
		Query         string `json:"query"`
		OperationName string `json:"operationName"`
	}
	if json.Unmarshal(body, &in) != nil {
		return "", false
	}
	if m := regexp.MustCompile(`(?:^|})[\s,]*(query|mutation)\b\s*(\w*)`).FindStringSubmatch(in.Query); m != nil {
		name, mutation = m[2], m[1] == "mutation"
	}
	if in.OperationName != "" {
		name = in.OperationName
	}
	return name, mutation
}

func runGraphQL(c *call) (*reply, error) {
	var in struct {
		Query         string         `json:"query"`
		Variables     map[string]any `json:"variables"`
		OperationName string         `json:"operationName"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if strings.TrimSpace(in.Query) == "" {
		return ok(obj{"errors": []obj{{"message": "A query attribute must be specified and must be a string."}}})
	}
	exec, err := c.sim.executor()
	if err != nil {
		return nil, err
	}
	return ok(exec.Run(in.Query, in.OperationName, in.Variables, gqlexec.Roots{Query: c.queryRoot(), Mutation: c.mutationRoot()}))
}

func (c *call) queryRoot() gqlexec.Object {
	return gql("Query", obj{
		"repository": gqlexec.Func(c.gqlRepository),
		"node":       gqlexec.Func(c.gqlNode),
		"rateLimit": lazy(func() (any, error) {
			h := c.hour()
			return gql("RateLimit", obj{
				"cost": 1, "limit": c.sim.opts.RateLimit, "used": h.used, "remaining": max(c.sim.opts.RateLimit-h.used, 0),
				"resetAt": stamp(h.start.Add(time.Hour)), "nodeCount": 1,
			}), nil
		}),
		"viewer": lazy(func() (any, error) { return c.gqlUser(c.me.account()), nil }),
	})
}

func (c *call) gqlRepository(a gqlexec.Args) (any, error) {
	full := a.String("owner") + "/" + a.String("name")
	r := c.sim.repos[strings.ToLower(full)]
	if r == nil || !c.me.sees(r) {
		return nil, &gqlexec.Error{Type: "NOT_FOUND", Message: "Could not resolve to a Repository with the name '" + full + "'."}
	}
	c.repo = r
	return c.gqlRepo(r), nil
}

// allowed refuses a field whose permission the token lacks, as GitHub's GraphQL does: null and an error.
func (c *call) allowed(perms ...string) error {
	for _, p := range perms {
		if c.me.may(c.repo, p) {
			return nil
		}
	}
	return &gqlexec.Error{Type: "FORBIDDEN", Message: "Resource not accessible by integration"}
}

// gqlUser is a User whatever the account is: viewer and committers are.
func (c *call) gqlUser(a *account) any {
	if a == nil {
		return nil
	}
	o, isObject := c.gqlActor(a).(gqlexec.Object)
	if isObject {
		o.Type, o.Fields["login"] = "User", a.login
	}
	return o
}

// gqlActor is an account as author: bots lose the [bot] of their login here.
func (c *call) gqlActor(a *account) any {
	if a == nil {
		return nil
	}
	login := strings.TrimSuffix(a.login, "[bot]")
	url := "https://github.com/" + login
	if a.typ == "Bot" {
		url = "https://github.com/apps/" + login
	}
	return gql(a.typ, obj{
		"login": login, "databaseId": a.id, "id": nodeID("U", a.id), "url": url, "resourcePath": strings.TrimPrefix(url, "https://github.com"),
		"avatarUrl": fmt.Sprintf("https://avatars.githubusercontent.com/u/%d?v=4", a.id), "name": orNull(a.name), "email": a.email,
	})
}

// connect pages through a slice.
func connect[T any](field, typ string, all []T, item func(T) gqlexec.Object) gqlexec.Func {
	return func(a gqlexec.Args) (any, error) {
		return gqlexec.Connection(field, typ, a, len(all), func(i int) (gqlexec.Object, error) { return item(all[i]), nil })
	}
}
