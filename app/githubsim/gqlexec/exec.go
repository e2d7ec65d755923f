// Package gqlexec answers GraphQL queries over a given schema from objects whose fields are values or
// functions. It knows GraphQL and nothing of GitHub's data.
//
// A field that the schema has and an object does not is an error that names it, never a silent null:
// a simulator that invents nulls would let a misspelt assumption pass.
package gqlexec

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// maxQueries bounds the parsed queries that are kept.
const maxQueries = 256

// Args are a field's arguments, with the schema's defaults filled in.
type Args map[string]any

// Int reads an integer argument; set tells whether it was given.
func (a Args) Int(name string) (n int, set bool) {
	switch v := a[name].(type) {
	case int64:
		return int(v), true
	case int:
		return v, true
	case float64:
		return int(v), true
	}
	return 0, false
}

// String reads a text argument; absent is empty.
func (a Args) String(name string) string {
	s, _ := a[name].(string)
	return s
}

// Func computes a field.
type Func func(Args) (any, error)

// Object is a value of a GraphQL object type. Its fields are scalars, nil, Object, []any or Func.
type Object struct {
	Type   string
	Fields map[string]any
}

// Error is a refusal of one field, with the type GitHub gives it (NOT_FOUND, FORBIDDEN, …).
type Error struct{ Type, Message string }

func (e *Error) Error() string { return e.Message }

// Response is what goes over the wire.
type Response struct {
	Data   any   `json:"data,omitempty"`
	Errors []any `json:"errors,omitempty"`
}

// Executor answers queries. It is safe for concurrent use.
type Executor struct {
	schema *ast.Schema
	rules  *rules.Rules

	mu      sync.Mutex
	queries map[string]*ast.QueryDocument
}

// New parses a schema.
func New(text string) (*Executor, error) {
	schema, err := gqlparser.LoadSchema(&ast.Source{Name: "schema.graphql", Input: text})
	if err != nil {
		return nil, fmt.Errorf("load GraphQL schema: %w", err)
	}
	return &Executor{schema: schema, rules: rules.NewDefaultRules(), queries: map[string]*ast.QueryDocument{}}, nil
}

func (e *Executor) parse(query string) (*ast.QueryDocument, gqlerror.List) {
	e.mu.Lock()
	doc := e.queries[query]
	e.mu.Unlock()
	if doc != nil {
		return doc, nil
	}
	doc, errs := gqlparser.LoadQueryWithRules(e.schema, query, e.rules)
	if len(errs) > 0 {
		return nil, errs
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.queries) >= maxQueries {
		clear(e.queries)
	}
	e.queries[query] = doc
	return doc, nil
}

// Roots are the objects that operations begin at. The fields of a mutation are computed one after the
// other, in the order of the text; one that fails is null, with an error that names it, and the others
// stand.
type Roots struct{ Query, Mutation Object }

// Run answers one operation. A text that does not fit the schema is answered by errors alone.
func (e *Executor) Run(query, operation string, vars map[string]any, roots Roots) Response {
	doc, errs := e.parse(query)
	if len(errs) > 0 {
		return refused(errs)
	}
	op := doc.Operations.ForName(operation)
	if op == nil {
		return refused(gqlerror.List{gqlerror.Errorf("No operation named %q", operation)})
	}
	root := roots.Query
	switch op.Operation {
	case ast.Mutation:
		root = roots.Mutation
	case ast.Subscription:
		return refused(gqlerror.List{gqlerror.Errorf("subscriptions are not simulated")})
	}
	values, err := validator.VariableValues(e.schema, op, vars)
	if err != nil {
		return refused(gqlerror.List{gqlerror.Wrap(err)})
	}
	x := &execution{schema: e.schema, vars: values}
	data, failed := x.object(root, op.SelectionSet, nil)
	if failed {
		data = nil
	}
	return Response{Data: data, Errors: x.errors}
}

func refused(errs gqlerror.List) Response {
	var out Response
	for _, e := range errs {
		one := map[string]any{"message": e.Message}
		if len(e.Locations) > 0 {
			one["locations"] = e.Locations
		}
		out.Errors = append(out.Errors, one)
	}
	return out
}

type execution struct {
	schema *ast.Schema
	vars   map[string]any
	errors []any
}

// field is a response key with everything that is selected below it.
type field struct {
	*ast.Field
	sub ast.SelectionSet
}

// collect gathers the fields of a selection for a concrete type, in order, merging equal keys.
func (x *execution) collect(set ast.SelectionSet, typ string, out []*field) []*field {
	for _, sel := range set {
		switch s := sel.(type) {
		case *ast.Field:
			if x.skipped(s.Directives) {
				continue
			}
			i := slices.IndexFunc(out, func(f *field) bool { return f.Alias == s.Alias })
			if i < 0 {
				out = append(out, &field{Field: s, sub: slices.Clone(s.SelectionSet)})
			} else {
				out[i].sub = append(out[i].sub, s.SelectionSet...)
			}
		case *ast.InlineFragment:
			if !x.skipped(s.Directives) && (s.TypeCondition == "" || x.is(typ, s.TypeCondition)) {
				out = x.collect(s.SelectionSet, typ, out)
			}
		case *ast.FragmentSpread:
			if !x.skipped(s.Directives) && x.is(typ, s.Definition.TypeCondition) {
				out = x.collect(s.Definition.SelectionSet, typ, out)
			}
		}
	}
	return out
}

func (x *execution) skipped(list ast.DirectiveList) bool {
	if d := list.ForName("skip"); d != nil && d.ArgumentMap(x.vars)["if"] == true {
		return true
	}
	d := list.ForName("include")
	return d != nil && d.ArgumentMap(x.vars)["if"] == false
}

// is tells whether a concrete type satisfies a type condition.
func (x *execution) is(typ, condition string) bool {
	if typ == condition {
		return true
	}
	def := x.schema.Types[condition]
	return def != nil && slices.ContainsFunc(x.schema.GetPossibleTypes(def), func(d *ast.Definition) bool { return d.Name == typ })
}

// object answers a selection on an object. failed means that a field that may not be null was: the
// null then moves up.
func (x *execution) object(o Object, set ast.SelectionSet, path []any) (out map[string]any, failed bool) {
	out = map[string]any{}
	for _, f := range x.collect(set, o.Type, nil) {
		if f.Name == "__typename" {
			out[f.Alias] = o.Type
			continue
		}
		at := append(slices.Clone(path), f.Alias)
		v, bad := x.field(o, f, at)
		if bad {
			return nil, true
		}
		out[f.Alias] = v
	}
	return out, false
}

func (x *execution) field(o Object, f *field, path []any) (any, bool) {
	v, known := o.Fields[f.Name]
	var err error
	if !known {
		err = fmt.Errorf("field %s of %s is not simulated", f.Name, o.Type)
	} else if fn, isFunc := v.(Func); isFunc {
		v, err = fn(x.arguments(f))
	}
	if err != nil {
		x.fail(f, path, err)
		return nil, f.Definition.Type.NonNull
	}
	return x.complete(f, f.Definition.Type, v, path)
}

// arguments are a field's arguments; where a list is asked for, one value is a list of it.
func (x *execution) arguments(f *field) Args {
	args := f.ArgumentMap(x.vars)
	for _, def := range f.Definition.Arguments {
		if v, given := args[def.Name]; given {
			args[def.Name] = x.coerce(def.Type, v)
		}
	}
	return args
}

func (x *execution) coerce(typ *ast.Type, v any) any {
	if v == nil {
		return nil
	}
	if typ.Elem != nil {
		list, isList := v.([]any)
		if !isList {
			list = []any{v}
		}
		out := make([]any, 0, len(list))
		for _, one := range list {
			out = append(out, x.coerce(typ.Elem, one))
		}
		return out
	}
	in, isObject := v.(map[string]any)
	def := x.schema.Types[typ.NamedType]
	if !isObject || def == nil {
		return v
	}
	out := make(map[string]any, len(in))
	for name, value := range in {
		out[name] = value
		if fd := def.Fields.ForName(name); fd != nil {
			out[name] = x.coerce(fd.Type, value)
		}
	}
	return out
}

func (x *execution) fail(f *field, path []any, err error) {
	one := map[string]any{"message": err.Error(), "path": path}
	if f.Position != nil {
		one["locations"] = []any{map[string]any{"line": f.Position.Line, "column": f.Position.Column}}
	}
	var typed *Error
	if errors.As(err, &typed) {
		one["type"] = typed.Type
	}
	x.errors = append(x.errors, one)
}

// complete turns a value into what its declared type shows.
func (x *execution) complete(f *field, typ *ast.Type, v any, path []any) (any, bool) {
	if v == nil {
		if typ.NonNull {
			x.fail(f, path, fmt.Errorf("field %s may not be null and is", f.Name))
		}
		return nil, typ.NonNull
	}
	if typ.Elem != nil {
		list, isList := v.([]any)
		if !isList {
			x.fail(f, path, fmt.Errorf("field %s is a list and its value is not", f.Name))
			return nil, typ.NonNull
		}
		out := make([]any, 0, len(list))
		for i, one := range list {
			made, bad := x.complete(f, typ.Elem, one, append(slices.Clone(path), i))
			if bad {
				return nil, typ.NonNull
			}
			out = append(out, made)
		}
		return out, false
	}
	if def := x.schema.Types[typ.NamedType]; def != nil && !def.IsCompositeType() {
		return v, false
	}
	o, isObject := v.(Object)
	if !isObject || !x.is(o.Type, typ.NamedType) {
		x.fail(f, path, fmt.Errorf("field %s: want a value of type %s", f.Name, typ.NamedType))
		return nil, typ.NonNull
	}
	made, bad := x.object(o, f.sub, path)
	if bad {
		return nil, typ.NonNull
	}
	return made, false
}
