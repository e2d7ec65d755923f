package main

import (
	"encoding/json"
	"fmt"
	"sort"
	"strings"
)

type object = map[string]any

// reduceOpenAPI keeps the operations and webhooks named, what they refer to, and no prose.
func reduceOpenAPI(raw []byte, ops, hooks []string, version string) ([]byte, error) {
	var doc object
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, fmt.Errorf("read OpenAPI description: %w", err)
	}
	paths, err := keepOperations(child(doc, "paths"), ops)
	if err != nil {
		return nil, err
	}
	kept := object{}
	all := child(doc, "x-webhooks")
	for _, key := range hooks {
		if all[key] == nil {
			return nil, fmt.Errorf("no webhook %q in the description", key)
		}
		kept[key] = strip(all[key], false)
	}
	components := child(doc, "components")
	chosen := object{}
	if err := addReferences(chosen, components, []any{paths, kept}); err != nil {
		return nil, err
	}
	return encode(object{
		"openapi": doc["openapi"],
		"info": object{
			"title": "GitHub REST API, reduced to the operations Countersign uses", "version": version,
			"license": object{"name": "MIT", "url": "https://spdx.org/licenses/MIT"},
			"description": "Reduced from @octokit/openapi " + version + " (GitHub rest-api-description), MIT. " +
				"Operations: ops.txt; webhooks: hooks.txt. Prose and examples dropped.",
		},
		"servers": []any{object{"url": "/"}}, "paths": paths, "x-webhooks": kept, "components": chosen,
	})
}

func child(o object, key string) object {
	c, _ := o[key].(object)
	return c
}

func keepOperations(paths object, ops []string) (object, error) {
	want := map[string]bool{}
	for _, id := range ops {
		want[id] = true
	}
	out := object{}
	for path, item := range paths {
		methods, _ := item.(object)
		for method, op := range methods {
			o, isObject := op.(object)
			if !isObject {
				continue
			}
			id, _ := o["operationId"].(string)
			if !want[id] {
				continue
			}
			delete(want, id)
			if out[path] == nil {
				out[path] = object{}
			}
			child(out, path)[method] = strip(o, false)
		}
	}
	if len(want) > 0 {
		var missing []string
		for id := range want {
			missing = append(missing, id)
		}
		sort.Strings(missing)
		return nil, fmt.Errorf("no operations %s in the description", strings.Join(missing, ", "))
	}
	return out, nil
}

// prose are the keys that carry text for people. Where a key is the name of a property it stays, and so
// does the mark of path parameters that may hold slashes.
func prose(key string) bool {
	switch key {
	case "title", "description", "summary", "example", "examples", "externalDocs", "tags":
		return true
	}
	return strings.HasPrefix(key, "x-") && key != "x-multi-segment"
}

// strip drops prose. names tells that the keys of this object are names that the API gives.
func strip(v any, names bool) any {
	switch t := v.(type) {
	case object:
		out := object{}
		_, isResponse := t["content"]
		for key, value := range t {
			if !names && prose(key) {
				continue
			}
			out[key] = strip(value, !names && holdsNames(key, value))
		}
		if _, described := t["description"].(string); described && !names && (isResponse || len(out) == 0 || out["headers"] != nil) {
			out["description"] = "" // OpenAPI wants one in every response
		}
		return out
	case []any:
		out := make([]any, 0, len(t))
		for _, one := range t {
			out = append(out, strip(one, false))
		}
		return out
	}
	return v
}

// holdsNames tells whether the keys below are names and not OpenAPI's words.
func holdsNames(key string, value any) bool {
	if _, isObject := value.(object); !isObject {
		return false
	}
	switch key {
	case "properties", "responses", "headers", "mapping", "patternProperties":
		return true
	}
	return false
}

// addReferences copies every component that is referred to, and what those refer to.
func addReferences(chosen, components object, from []any) error {
	for len(from) > 0 {
		var next []any
		for _, ref := range references(from) {
			parts := strings.Split(strings.TrimPrefix(ref, "#/components/"), "/")
			if len(parts) != 2 || !strings.HasPrefix(ref, "#/components/") {
				return fmt.Errorf("reference %q: want #/components/KIND/NAME", ref)
			}
			kind, name := parts[0], parts[1]
			if child(chosen, kind)[name] != nil {
				continue
			}
			found := child(components, kind)[name]
			if found == nil {
				return fmt.Errorf("reference %q leads nowhere", ref)
			}
			if chosen[kind] == nil {
				chosen[kind] = object{}
			}
			made := strip(found, false)
			child(chosen, kind)[name] = made
			next = append(next, made)
		}
		from = next
	}
	return nil
}

func references(v any) []string {
	var out []string
	switch t := v.(type) {
	case object:
		for key, value := range t {
			if ref, isText := value.(string); isText && key == "$ref" {
				out = append(out, ref)
				continue
			}
			out = append(out, references(value)...)
		}
	case []any:
		for _, one := range t {
			out = append(out, references(one)...)
		}
	}
	return out
}
