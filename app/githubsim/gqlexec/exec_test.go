package gqlexec_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/countersign/countersign/app/githubsim/gqlexec"
)

const schema = `
type Mutation { feed(name: String!): Pet, count: Int }
type Query { pet(name: String = "Rex"): Pet, pets: [Pet!]!, strict: Strict, named(names: [String!], by: By): [Pet!]! }
input By { names: [String!] }
interface Pet { name: String!, friend: Pet }
type Dog implements Pet { name: String!, friend: Pet, barks: Boolean! }
type Cat implements Pet { name: String!, friend: Pet }
type Strict { must: String!, unknown: String }
`

func run(t *testing.T, query string, vars map[string]any) string {
	t.Helper()
	e, err := gqlexec.New(schema)
	if err != nil {
		t.Fatal(err)
	}
	cat := gqlexec.Object{Type: "Cat", Fields: map[string]any{"name": "Tom", "friend": nil}}
	dog := gqlexec.Object{Type: "Dog", Fields: map[string]any{"name": "Rex", "friend": cat, "barks": true}}
	raw, err := json.Marshal(e.Run(query, "", vars, gqlexec.Roots{Mutation: feeding(cat), Query: gqlexec.Object{Type: "Query", Fields: map[string]any{
		"pet": gqlexec.Func(func(a gqlexec.Args) (any, error) {
			for _, p := range []gqlexec.Object{cat, dog} {
				if p.Fields["name"] == a.String("name") {
					return p, nil
				}
			}
			return nil, &gqlexec.Error{Type: "NOT_FOUND", Message: "no such pet"}
		}),
		"pets": []any{dog, cat},
		"named": gqlexec.Func(func(a gqlexec.Args) (any, error) {
			names, _ := a["names"].([]any)
			by, _ := a["by"].(map[string]any)
			more, _ := by["names"].([]any)
			out := []any{}
			for _, p := range []gqlexec.Object{cat, dog} {
				if slices.Contains(names, p.Fields["name"]) || slices.Contains(more, p.Fields["name"]) {
					out = append(out, p)
				}
			}
			return out, nil
		}),
		"strict": gqlexec.Object{Type: "Strict", Fields: map[string]any{"must": nil}},
	}}}))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// feeding counts who was fed; Rex bites.
func feeding(cat gqlexec.Object) gqlexec.Object {
	fed := 0
	return gqlexec.Object{Type: "Mutation", Fields: map[string]any{
		"feed": gqlexec.Func(func(a gqlexec.Args) (any, error) {
			if a.String("name") == "Rex" {
				return nil, &gqlexec.Error{Type: "UNPROCESSABLE", Message: "bites"}
			}
			fed++
			return cat, nil
		}),
		"count": gqlexec.Func(func(gqlexec.Args) (any, error) { return fed, nil }),
	}}
}

func TestAnswers(t *testing.T) {
	for name, row := range map[string]struct {
		query string
		vars  map[string]any
		want  string
	}{
		"a default":          {`{ pet { name } }`, nil, `{"data":{"pet":{"name":"Rex"}}}`},
		"one for a list":     {`{ named(names: "Tom") { name } }`, nil, `{"data":{"named":[{"name":"Tom"}]}}`},
		"one, in an object":  {`{ named(by: {names: "Rex"}) { name } }`, nil, `{"data":{"named":[{"name":"Rex"}]}}`},
		"a list":             {`{ named(names: ["Tom"], by: {names: ["Rex"]}) { name } }`, nil, `{"data":{"named":[{"name":"Tom"},{"name":"Rex"}]}}`},
		"a variable":         {`query($n: String) { pet(name: $n) { name } }`, map[string]any{"n": "Tom"}, `{"data":{"pet":{"name":"Tom"}}}`},
		"an alias":           {`{ a: pet(name: "Tom") { n: name } b: pet { name } }`, nil, `{"data":{"a":{"n":"Tom"},"b":{"name":"Rex"}}}`},
		"the type's name":    {`{ pets { __typename } }`, nil, `{"data":{"pets":[{"__typename":"Dog"},{"__typename":"Cat"}]}}`},
		"fragments":          {`{ pets { ...f ... on Dog { barks } } } fragment f on Pet { name }`, nil, `{"data":{"pets":[{"barks":true,"name":"Rex"},{"name":"Tom"}]}}`},
		"merged selections":  {`{ pet { friend { name } friend { __typename } } }`, nil, `{"data":{"pet":{"friend":{"__typename":"Cat","name":"Tom"}}}}`},
		"skip and include":   {`query($y: Boolean!) { pet { name @skip(if: $y) friend @include(if: $y) { name } } }`, map[string]any{"y": true}, `{"data":{"pet":{"friend":{"name":"Tom"}}}}`},
		"null":               {`{ pet(name: "Tom") { friend { name } } }`, nil, `{"data":{"pet":{"friend":null}}}`},
		"a refusal":          {`{ pet(name: "Bo") { name } }`, nil, `{"data":{"pet":null},"errors":[{"locations":[{"column":3,"line":1}],"message":"no such pet","path":["pet"],"type":"NOT_FOUND"}]}`},
		"null that may not":  {`{ pets { name } strict { must } }`, nil, `"strict":null`},
		"says which field":   {`{ strict { must } }`, nil, `field must may not be null and is`},
		"an unknown field":   {`{ strict { unknown } }`, nil, `field unknown of Strict is not simulated`},
		"outside the schema": {`{ pet { age } }`, nil, `"message":"Cannot query field \"age\" on type \"Pet\"`},
		"mutations in turn":  {`mutation { a: count feed(name: "Tom") { name } b: count }`, nil, `{"data":{"a":0,"b":1,"feed":{"name":"Tom"}}}`},
		"one fails, the others stand": {`mutation { x: feed(name: "Tom") { name } y: feed(name: "Rex") { name } z: feed(name: "Tom") { name } count }`, nil,
			`{"data":{"count":2,"x":{"name":"Tom"},"y":null,"z":{"name":"Tom"}},"errors":[{"locations":[{"column":42,"line":1}],"message":"bites","path":["y"],"type":"UNPROCESSABLE"}]}`},
		"a subscription": {`subscription { pet { name } }`, nil, `"errors":[`},
		"not GraphQL":    {`{ pet`, nil, `{"errors":[`},
		"two operations": {`query a { pet { name } } query b { pet { name } }`, nil, `No operation named`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := run(t, row.query, row.vars); !strings.Contains(got, row.want) {
				t.Errorf("got %s; want %s", got, row.want)
			}
		})
	}
}
