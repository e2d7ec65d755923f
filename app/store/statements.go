package store

import (
	"container/list"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
)

// maxStatements bounds the prepared statements kept on a connection. Ours and the
// job queue's are about a hundred.
const maxStatements = 256

// connector opens SQLite connections that keep their prepared statements.
// SQLite here is C translated to Go, and parsing a statement costs several times
// what running it does: without this, most of an acknowledgement's time went
// into parsing the same few dozen texts again.
type connector struct{ driver.Connector }

func newConnector(dsn string) (driver.Connector, error) {
	base, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, fmt.Errorf("read the database's address: %w", err)
	}
	return connector{base}, nil
}

// fullConn is what a connection of this driver can do; database/sql falls back
// to worse ways for what a wrapper hides.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

type fullStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// Connect opens a connection.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	base, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full, ok := base.(fullConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("open a database connection: %T lacks what this program needs of the driver", base), base.Close())
	}
	return &cachingConn{fullConn: full, byText: make(map[string]*list.Element)}, nil
}

// cachingConn keeps statements by their text, most recently used first. Like any
// connection it is used by one goroutine at a time.
type cachingConn struct {
	fullConn
	byText map[string]*list.Element
	recent list.List // of *kept
}

type kept struct {
	text string
	stmt fullStmt
}

// Unwrap gives the driver's own connection.
func (c *cachingConn) Unwrap() driver.Conn { return c.fullConn }

// ExecContext runs a statement that gives no rows.
func (c *cachingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	k, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	if k == nil {
		return c.fullConn.ExecContext(ctx, query, args)
	}
	res, err := k.stmt.ExecContext(ctx, args)
	return res, errors.Join(err, c.giveBack(k))
}

// QueryContext runs a statement that gives rows. Its statement is kept again
// when the rows are closed.
func (c *cachingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	k, err := c.take(ctx, query)
	if err != nil {
		return nil, err
	}
	if k == nil {
		return c.fullConn.QueryContext(ctx, query, args)
	}
	rows, err := k.stmt.QueryContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, c.giveBack(k))
	}
	return &keptRows{Rows: rows, conn: c, kept: k}, nil
}

// Close closes the statements and the connection.
func (c *cachingConn) Close() error {
	var errs []error
	for e := c.recent.Front(); e != nil; e = e.Next() {
		if k, ok := e.Value.(*kept); ok {
			errs = append(errs, k.stmt.Close())
		}
	}
	c.recent.Init()
	clear(c.byText)
	return errors.Join(append(errs, c.fullConn.Close())...)
}

// cacheable: only single statements that are run over and over. Scripts and what
// changes the schema or the connection go straight through.
func cacheable(query string) bool {
	first := ""
	for i := 0; i < len(query); {
		n := tokenLength(query[i:])
		token := query[i : i+n]
		i += n
		switch {
		case token[0] == '-' && n > 1, token[0] == '/' && n > 1, token == " ", token == "\n", token == "\t", token == "\r":
			continue // a comment or space
		case token == ";":
			return false
		case first == "":
			first = strings.ToUpper(token)
		}
	}
	switch first {
	case "SELECT", "INSERT", "UPDATE", "DELETE":
		return true
	}
	return false
}

// tokenLength is the length of the comment, quoted text or word at the start of
// s, at least 1.
func tokenLength(s string) int {
	to := func(end string) int {
		if i := strings.Index(s[1:], end); i >= 0 {
			return 1 + i + len(end)
		}
		return len(s)
	}
	switch {
	case strings.HasPrefix(s, "--"):
		return to("\n")
	case strings.HasPrefix(s, "/*"):
		return to("*/")
	case s[0] == '\'', s[0] == '"', s[0] == '`':
		return to(s[:1]) // a doubled quote reads as two texts, which is as good
	}
	n := 0
	for n < len(s) && (s[n] >= 'a' && s[n] <= 'z' || s[n] >= 'A' && s[n] <= 'Z' || s[n] == '_') {
		n++
	}
	return max(n, 1)
}

// take removes the statement from those kept, so that a second use of the same
// text while its rows are open gets one of its own. It is nil for what is not
// kept.
func (c *cachingConn) take(ctx context.Context, query string) (*kept, error) {
	if e, ok := c.byText[query]; ok {
		c.recent.Remove(e)
		delete(c.byText, query)
		if k, ok := e.Value.(*kept); ok {
			return k, nil
		}
	}
	if !cacheable(query) {
		return nil, nil
	}
	s, err := c.fullConn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	full, ok := s.(fullStmt)
	if !ok {
		return nil, errors.Join(fmt.Errorf("prepare a statement: %T lacks what this program needs of the driver", s), s.Close())
	}
	return &kept{text: query, stmt: full}, nil
}

func (c *cachingConn) giveBack(k *kept) error {
	if _, twice := c.byText[k.text]; twice {
		return k.stmt.Close()
	}
	c.byText[k.text] = c.recent.PushFront(k)
	if c.recent.Len() <= maxStatements {
		return nil
	}
	last := c.recent.Back()
	c.recent.Remove(last)
	old, ok := last.Value.(*kept)
	if !ok {
		return nil
	}
	delete(c.byText, old.text)
	return old.stmt.Close()
}

// keptRows are rows whose statement outlives them.
type keptRows struct {
	driver.Rows
	conn *cachingConn
	kept *kept
}

// Close ends the rows. Closing twice is harmless, as database/sql may.
func (r *keptRows) Close() error {
	err := r.Rows.Close()
	if r.kept != nil {
		err = errors.Join(err, r.conn.giveBack(r.kept))
		r.kept = nil
	}
	return err
}
