package gqlexec

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
)

// MaxPage is how many records one connection shows at most.
const MaxPage = 100

// Connection pages through n items by GitHub's rules: first or last is required, 100 at most, and
// cursors are opaque. Edges are Type without "Connection" and with "Edge".
func Connection(field, typ string, args Args, n int, item func(i int) (Object, error)) (any, error) {
	from, to, err := window(field, args, n)
	if err != nil {
		return nil, err
	}
	nodes, edges := []any{}, []any{}
	for i := from; i < to; i++ {
		o, err := item(i)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, o)
		edges = append(edges, Object{Type: strings.TrimSuffix(typ, "Connection") + "Edge", Fields: map[string]any{"node": o, "cursor": cursor(i)}})
	}
	var start, end any
	if to > from {
		start, end = cursor(from), cursor(to-1)
	}
	return Object{Type: typ, Fields: map[string]any{
		"totalCount": n, "nodes": nodes, "edges": edges,
		"pageInfo": Object{Type: "PageInfo", Fields: map[string]any{
			"hasNextPage": to < n, "hasPreviousPage": from > 0, "startCursor": start, "endCursor": end,
		}},
	}}, nil
}

func window(field string, args Args, n int) (from, to int, err error) {
	first, hasFirst := args.Int("first")
	last, hasLast := args.Int("last")
	if !hasFirst && !hasLast {
		return 0, 0, &Error{"MISSING_PAGINATION_BOUNDARIES", "You must provide a `first` or `last` value to properly paginate the `" + field + "` connection."}
	}
	for name, v := range map[string]int{"first": first, "last": last} {
		if v > MaxPage {
			return 0, 0, &Error{"EXCESSIVE_PAGINATION", fmt.Sprintf("Requesting %d records on the `%s` connection exceeds the `%s` limit of %d records.", v, field, name, MaxPage)}
		}
		if v < 0 {
			return 0, 0, &Error{"INVALID_CURSOR_ARGUMENTS", fmt.Sprintf("`%s` on the `%s` connection cannot be less than zero.", name, field)}
		}
	}
	from, to = 0, n
	if after := args.String("after"); after != "" {
		at, err := uncursor(after)
		if err != nil {
			return 0, 0, err
		}
		from = min(at+1, n)
	}
	if before := args.String("before"); before != "" {
		at, err := uncursor(before)
		if err != nil {
			return 0, 0, err
		}
		to = max(min(at, n), from)
	}
	if hasFirst {
		to = min(to, from+first)
	}
	if hasLast {
		from = max(from, to-last)
	}
	return from, to, nil
}

func cursor(i int) string {
	return base64.StdEncoding.EncodeToString([]byte("cursor:v2:" + strconv.Itoa(i)))
}

func uncursor(text string) (int, error) {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		if rest, ok := strings.CutPrefix(string(raw), "cursor:v2:"); ok {
			if n, err := strconv.Atoi(rest); err == nil && n >= 0 {
				return n, nil
			}
		}
	}
	return 0, &Error{"INVALID_CURSOR_ARGUMENTS", "`" + text + "` does not appear to be a valid cursor."}
}
