package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
)

const (
	data   = "../../../../testdata/github/"
	schema = "../../schema.graphql.gz"
)

// TestTheReducedDescriptionIsReduced: once more through the same lists it stays as it is. A line added
// to ops.txt or hooks.txt without `make github-api` fails here.
func TestTheReducedDescriptionIsReduced(t *testing.T) {
	raw := read(t, data+"api-reduced.json")
	var doc struct {
		Info  struct{ Version string } `json:"info"`
		Paths map[string]object        `json:"paths"`
		Hooks object                   `json:"x-webhooks"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	ops, err := readList(data + "ops.txt")
	if err != nil {
		t.Fatal(err)
	}
	hooks, err := readList(data + "hooks.txt")
	if err != nil {
		t.Fatal(err)
	}
	again, err := reduceOpenAPI(raw, ops, hooks, doc.Info.Version)
	if err != nil {
		t.Fatalf("%v (run make github-api)", err)
	}
	if !bytes.Equal(again, raw) {
		t.Errorf("%d bytes reduce to %d: run make github-api", len(raw), len(again))
	}
	n := 0
	for _, item := range doc.Paths {
		n += len(item)
	}
	if n != len(ops) || len(doc.Hooks) != len(hooks) {
		t.Errorf("%d operations and %d webhooks; want the %d and %d that are listed: run make github-api", n, len(doc.Hooks), len(ops), len(hooks))
	}
}

// TestTheSchemaIsReduced compares texts, not packed bytes: how well Go packs is Go's business.
func TestTheSchemaIsReduced(t *testing.T) {
	r, err := gzip.NewReader(bytes.NewReader(read(t, schema)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	keep, err := readList(data + "mutations.txt")
	if err != nil {
		t.Fatal(err)
	}
	again, err := reduceSchema(string(text), keep)
	if err != nil {
		t.Fatalf("%v (run make github-api)", err)
	}
	if again != string(text) {
		t.Errorf("%d bytes reduce to %d: run make github-api", len(text), len(again))
	}
	if strings.Contains(string(text), `"""`) {
		t.Error("the schema holds prose: run make github-api")
	}
}

const published = `{
  "openapi": "3.0.3",
  "paths": {
    "/a": {
      "get": {"operationId": "a/get", "summary": "Prose", "tags": ["a"], "parameters": [{"$ref": "#/components/parameters/p"}],
        "responses": {"200": {"description": "Prose", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/a"}, "examples": {}}}}, "404": {"description": "Prose"}}},
      "post": {"operationId": "a/post", "responses": {}}
    },
    "/b": {"get": {"operationId": "b/get", "responses": {}}}
  },
  "x-webhooks": {"one": {"post": {"requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/hook"}}}}}}, "two": {}},
  "components": {
    "parameters": {"p": {"name": "p", "in": "query", "description": "Prose", "x-multi-segment": true, "schema": {"type": "string", "example": "x"}}},
    "schemas": {
      "a": {"title": "Prose", "type": "object", "properties": {"title": {"type": "string", "description": "Prose"}, "b": {"$ref": "#/components/schemas/b"}}},
      "b": {"type": "object", "properties": {"a": {"$ref": "#/components/schemas/a"}}},
      "hook": {"type": "object"}, "unused": {"type": "string"}
    }
  }
}`

func TestReduceOpenAPI(t *testing.T) {
	got, err := reduceOpenAPI([]byte(published), []string{"a/get"}, []string{"one"}, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	text := string(got)
	for _, want := range []string{
		`"operationId":"a/get"`, `"x-multi-segment":true`, `"version":"1.2.3"`, `"description":""`,
		`"properties":{"b":{"$ref":"#/components/schemas/b"},"title":{"type":"string"}}`, // a property may be called title
		`"b":{"properties":{"a":{"$ref":"#/components/schemas/a"}},"type":"object"}`, `"hook":{"type":"object"}`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
	for _, gone := range []string{"Prose", "a/post", `"/b"`, "two", "unused", "example"} {
		if strings.Contains(strings.Replace(text, "Prose and examples dropped", "", 1), gone) {
			t.Errorf("%s is still in %s", gone, text)
		}
	}
}

func TestReduceOpenAPIRefuses(t *testing.T) {
	for name, row := range map[string]struct {
		text, want string
		ops, hooks []string
	}{
		"an operation that is not there": {published, "no operations c/get, d/get", []string{"d/get", "a/get", "c/get"}, nil},
		"a webhook that is not there":    {published, `no webhook "three"`, nil, []string{"three"}},
		"a reference to nothing":         {strings.ReplaceAll(published, `"hook":`, `"other":`), "leads nowhere", nil, []string{"one"}},
		"a reference elsewhere":          {strings.ReplaceAll(published, "#/components/schemas/hook", "other.json#/hook"), "want #/components/KIND/NAME", nil, []string{"one"}},
		"no JSON":                        {"{", "read OpenAPI description", nil, nil},
	} {
		if _, err := reduceOpenAPI([]byte(row.text), row.ops, row.hooks, "1"); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v; want %q", name, err, row.want)
		}
	}
}

func TestReduceSchema(t *testing.T) {
	const text = `# A remark
schema {
  query: Query
  mutation: Mutation
}

"""
Prose about the type
"""
type Query {
  """One line"""
  a(
    """
    Prose
    """
    first: Int
  ): String!
  b: Int
  b: Int
}

type Mutation {
  doA(
    input: AInput!
  ): DoAPayload
  doB(input: AInput!): DoBPayload
}

type DoAPayload {
  d: Int
}

type DoBPayload {
  d: Int
}
`
	const want = `schema {
  query: Query
  mutation: Mutation
}
type Query {
  a(
    first: Int
  ): String!
  b: Int
}
type Mutation {
  doA(
    input: AInput!
  ): DoAPayload
}
type DoAPayload {
  d: Int
}
`
	if got, err := reduceSchema(text, []string{"doA"}); err != nil || got != want {
		t.Errorf("%v, got:\n%s\nwant:\n%s", err, got, want)
	}
	if _, err := reduceSchema(text, []string{"doA", "doC"}); err == nil || !strings.Contains(err.Error(), "1 of the 2") {
		t.Errorf("a mutation that is not there: %v", err)
	}
}

func TestRunWantsOneOfTwo(t *testing.T) {
	for _, args := range [][2]string{{"", ""}, {"a.json", "b.graphql"}} {
		if err := run(args[0], "", "", args[1], "", "", "out"); err == nil {
			t.Errorf("run with %q succeeded", args)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
