package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReviewExitCodes(t *testing.T) {
	write := func(name, content string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	diffOf := func(path, line string) string {
		return write("x.diff", "diff --git a/"+path+" b/"+path+"\nindex 7898192..422c2b7 100644\n--- a/"+path+"\n+++ b/"+path+"\n@@ -1 +1,2 @@\n a\n+"+line+"\n")
	}
	clean, conflict := diffOf("docs/a.md", "b"), diffOf("main.go", "AWS_ACCESS_KEY_ID="+"AKIA"+"Z7XQ3M2N5P4R6TBV")
	for _, tt := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"nothing against it", []string{clean}, exitOK, "Low · nothing found against it"},
		{"something", []string{conflict}, exitFound, "changes requested"},
		{"flags behind", []string{conflict, "--json"}, exitFound, `"decision": "changes_requested"`},
		{"sarif", []string{"--sarif", conflict}, exitFound, `"version": "2.1.0"`},
		{"schema", []string{"--schema"}, exitOK, `"$defs"`},
		{"no diff", []string{write("x.diff", "hello\n")}, exitUsage, "want a unified diff"},
		{"no file", []string{"nowhere.diff"}, exitUsage, "no file"},
		{"two", []string{clean, clean}, exitUsage, "at most"},
		{"two forms", []string{"--json", "--sarif", clean}, exitUsage, "not both"},
		{"a base for a diff", []string{"--base", "main", clean}, exitUsage, "for a clone"},
		{"no clone", []string{"-C", t.TempDir()}, exitUsage, "git repository"},
		{"no such flag", []string{"--approve"}, exitUsage, "approve"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			code := run(context.Background(), append([]string{"review"}, tt.args...), &out, &errOut)
			if code != tt.code || !strings.Contains(out.String()+errOut.String(), tt.want) {
				t.Errorf("exit %d, want %d and %q\n%s%s", code, tt.code, tt.want, out.String(), errOut.String())
			}
			if code == exitUsage && out.Len() > 0 {
				t.Errorf("on standard output: %s", out.String())
			}
			if len(tt.args) > 1 && tt.args[1] == "--json" && !json.Valid(out.Bytes()) {
				t.Error("the output is not JSON alone")
			}
		})
	}
}

func TestSurveyRefuses(t *testing.T) {
	for _, args := range [][]string{{"a", "b"}, {"--commits", "0"}, {t.TempDir()}} {
		var out, errOut bytes.Buffer
		if code := run(t.Context(), append([]string{"survey"}, args...), &out, &errOut); code != exitUsage || errOut.Len() == 0 || out.Len() > 0 {
			t.Errorf("%q: exit %d, %s%s", args, code, out.String(), errOut.String())
		}
	}
}
