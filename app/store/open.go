package store

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// dsn names the file with every pragma that correctness rests on:
// recursive_triggers, without which INSERT OR REPLACE slips past append-only
// triggers; immediate transactions, so that a read is never upgraded to a write
// that fails; and synchronous=FULL, so that a committed delivery survives a
// power cut and not only the process. Group commit shares its fsync.
func dsn(path string) string {
	q := url.Values{}
	q.Add("_pragma", "busy_timeout(10000)")
	q.Add("_pragma", "journal_mode(WAL)")
	q.Add("_pragma", "synchronous(FULL)")
	q.Add("_pragma", "foreign_keys(1)")
	q.Add("_pragma", "recursive_triggers(1)")
	q.Add("_txlock", "immediate")
	q.Add("_time_format", "sqlite")
	return fileURL(path, q)
}

func readOnlyDSN(path string) string {
	q := url.Values{}
	q.Add("mode", "ro")
	q.Add("_pragma", "busy_timeout(10000)")
	q.Add("_pragma", "query_only(1)")
	q.Add("_time_format", "sqlite")
	return fileURL(path, q)
}

func fileURL(path string, q url.Values) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}
	return u.String()
}

// checkFile refuses what SQLite would report in its own words, or accept and
// fail on later.
func checkFile(path string) error {
	if path == "" {
		return errors.New("open database: no file is named; set its path")
	}
	switch fi, err := os.Stat(path); {
	case err == nil && fi.IsDir():
		return fmt.Errorf("open database %s: it is a folder; name a file in it", path)
	case err == nil && !fi.Mode().IsRegular():
		return fmt.Errorf("open database %s: it is not a regular file", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("open database %s: %w", path, err)
	}
	dir := filepath.Dir(path)
	if fi, err := os.Stat(dir); err != nil {
		return fmt.Errorf("open database %s: its folder must exist: %w", path, err)
	} else if !fi.IsDir() {
		return fmt.Errorf("open database %s: %s is not a folder", path, dir)
	}
	return nil
}

// checkWritable opens the file, creating it: its content may hold private
// repositories' payloads, so nobody else may read it.
func checkWritable(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open database %s: it must be writable by this user, and so must its folder: %w", path, err)
	}
	return f.Close()
}

func mustExist(path string) error {
	fi, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("open database %s for reading: %w", path, err)
	}
	if fi.IsDir() {
		return fmt.Errorf("open database %s for reading: it is a folder; name the file in it", path)
	}
	return nil
}

// remedyFor says in our words what an operator can do about SQLite's; empty where
// its own have to do.
func remedyFor(err error) string {
	var se *sqlite.Error
	if !errors.As(err, &se) {
		return ""
	}
	const primary = 0xff // the rest of a code tells sorts apart
	switch se.Code() & primary {
	case sqlite3.SQLITE_NOTADB:
		return "the file is not an SQLite database; name another file or move it away"
	case sqlite3.SQLITE_CORRUPT:
		return "the file is damaged; stop, keep a copy, restore a backup"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return "reading needs write access to the file's folder, for its -shm file; copy the file with its -wal to a folder of your own"
	}
	return ""
}
