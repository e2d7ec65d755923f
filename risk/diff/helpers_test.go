package diff

import (
	"strconv"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

// modified is a regular file with the given hunks.
func modified(t testing.TB, path, patch string) File {
	t.Helper()
	hunks, err := ParseHunks(patch, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return File{Op: Modified, OldPath: path, NewPath: path, OldMode: ModeRegular, NewMode: ModeRegular,
		OldBlob: "1111", NewBlob: "2222", Hunks: hunks}
}
