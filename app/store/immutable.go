package store

import (
	"context"
	"errors"
	"os"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// connectForReading opens the file beside whoever writes to it. That needs a -shm
// file in its folder; where none can be made, as on a read-only copy, and nothing
// beside the file holds changes that it lacks, it is read as a file that nobody
// changes. Were that wrong, a reader could miss records, and so it is never assumed
// of a file that can be opened otherwise.
func connectForReading(ctx context.Context, opts Options) (*Store, error) {
	dsn := readOnlyDSN(opts.Path)
	s, err := connect(ctx, opts, dsn)
	if err == nil || !unwritable(err) || hasChanges(opts.Path+"-wal") || hasChanges(opts.Path+"-journal") {
		return s, err
	}
	return connect(ctx, opts, dsn+"&immutable=1")
}

// unwritable: SQLite could not make what it needs beside the file.
func unwritable(err error) bool {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return false
	}
	const primary = 0xff
	switch se.Code() & primary {
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN:
		return true
	}
	return false
}

// hasChanges reports whether a file beside the database may hold what is not yet in
// it: anything but an empty or an absent one.
func hasChanges(path string) bool {
	fi, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	return err != nil || fi.Size() > 0
}
