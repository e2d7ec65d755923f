package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// maxNamed bounds the foreign tables that an error names.
const maxNamed = 5

// refuseForeign stops a start on another program's SQLite file before anything
// is written into it. A file is ours when it is empty, when goose had only begun,
// or when the tables of our first migration, which come together, are there.
func refuseForeign(ctx context.Context, db *sql.DB) (err error) {
	rows, err := db.QueryContext(ctx, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY name LIMIT 1000`)
	if err != nil {
		return fmt.Errorf("list its tables: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	have := make(map[string]bool)
	var foreign []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return fmt.Errorf("list its tables: %w", err)
		}
		have[name] = true
		if name != "goose_db_version" {
			foreign = append(foreign, name)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("list its tables: %w", err)
	}
	if len(foreign) == 0 || have["goose_db_version"] && have["deliveries"] && have["delivery_payloads"] && have["subjects"] {
		return nil
	}
	more := ""
	if len(foreign) > maxNamed {
		foreign, more = foreign[:maxNamed], " …"
	}
	return fmt.Errorf("it holds another program's tables (%s%s) and was left as it is; name a file of Countersign's own, which may be new", strings.Join(foreign, ", "), more)
}
