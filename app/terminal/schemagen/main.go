// Command schemagen writes the JSON Schema of a report, with the comments of its
// Go types as descriptions.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/countersign/countersign/app/terminal"
)

func main() {
	out := flag.String("out", "", "the file to write")
	flag.Parse()
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}

func write(out string) error {
	r := &jsonschema.Reflector{Anonymous: true}
	if err := r.AddGoComments("github.com/countersign/countersign/app/terminal", "."); err != nil {
		return fmt.Errorf("read the types' comments: %w", err)
	}
	// The package's path is that of the folder go generate runs in.
	for name, text := range r.CommentMap {
		r.CommentMap[strings.Replace(name, "/.", "", 1)] = strings.Join(strings.Fields(text), " ")
	}
	schema := r.Reflect(terminal.Report{})
	schema.Title = "What countersign review --json prints"
	text, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644)
}
