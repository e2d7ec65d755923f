// Command reduce makes the small descriptions of GitHub's APIs that the tests and the simulator use
// from the large ones GitHub publishes: the REST description loses every operation and webhook the
// lists do not name and all prose; the GraphQL schema loses its prose and the mutations the list does not name. `make github-api` runs it.
//
//	reduce -openapi api.github.com.json -ops ops.txt -hooks hooks.txt -out api-reduced.json
//	reduce -graphql schema.graphql -mutations mutations.txt -out schema.graphql.gz
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	var openapi, ops, hooks, graphql, mutations, out, version string
	flag.StringVar(&openapi, "openapi", "", "GitHub's OpenAPI description (api.github.com.json of @octokit/openapi)")
	flag.StringVar(&ops, "ops", "", "operation ids to keep, one a line")
	flag.StringVar(&hooks, "hooks", "", "webhook keys to keep, one a line")
	flag.StringVar(&graphql, "graphql", "", "GitHub's GraphQL schema (schema.graphql of @octokit/graphql-schema)")
	flag.StringVar(&mutations, "mutations", "", "GraphQL mutations to keep, one a line")
	flag.StringVar(&version, "version", "", "version of the package that the description comes from")
	flag.StringVar(&out, "out", "", "file to write")
	flag.Parse()
	if err := run(openapi, ops, hooks, graphql, mutations, version, out); err != nil {
		fmt.Fprintln(os.Stderr, "reduce:", err)
		os.Exit(1)
	}
}

func run(openapi, ops, hooks, graphql, mutations, version, out string) error {
	switch {
	case out == "" || (openapi == "") == (graphql == ""):
		return errors.New("want -out and either -openapi or -graphql")
	case graphql != "":
		raw, err := os.ReadFile(graphql)
		if err != nil {
			return err
		}
		keep, err := readList(mutations)
		if err != nil {
			return err
		}
		text, err := reduceSchema(string(raw), keep)
		if err != nil {
			return err
		}
		packed, err := pack(text)
		if err != nil {
			return err
		}
		return os.WriteFile(out, packed, 0o644)
	}
	keepOps, err := readList(ops)
	if err != nil {
		return err
	}
	keepHooks, err := readList(hooks)
	if err != nil {
		return err
	}
	raw, err := os.ReadFile(openapi)
	if err != nil {
		return err
	}
	reduced, err := reduceOpenAPI(raw, keepOps, keepHooks, version)
	if err != nil {
		return err
	}
	return os.WriteFile(out, reduced, 0o644)
}

// readList reads one entry a line; # begins a remark.
func readList(path string) ([]string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read list: %w", err)
	}
	var out []string
	for _, line := range strings.Split(string(raw), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out, nil
}

// pack compresses without a name or time, so that the same text gives the same file.
func pack(text string) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write([]byte(text)); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// encode writes JSON on one line with sorted keys, and no escapes for <, > and &.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
