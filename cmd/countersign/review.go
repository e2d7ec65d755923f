package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/countersign/countersign/app/terminal"
)

const reviewHelp = `Take a change through the gates before it is pushed. Nothing of it is run and
nothing is sent anywhere; a clone's own configuration, hooks and filters are not used.

  countersign review                  this clone: from the merge base with the default
                                      branch to the work tree
  countersign review FILE.diff        a unified diff; - reads standard input
  countersign review URL              a pull request, read with the token in GITHUB_TOKEN

What only the pull request knows (CI's checks, approvals, its purpose, a reviewer's word)
is listed as open and does not count.

Exit code 0: nothing stands against it. 1: something does. 2: could not run.`

func reviewCommand(ctx context.Context, args []string, out, errOut io.Writer) error {
	f := flags("review", reviewHelp, errOut)
	var o terminal.RangeOptions
	f.StringVar(&o.Dir, "C", "", "a folder of the clone (default: this one)")
	f.StringVar(&o.Base, "base", "", "what it would be merged into (default: the default branch)")
	f.StringVar(&o.Head, "head", "", "the last commit of the change (default: the work tree)")
	asJSON := f.Bool("json", false, "one JSON object, for programs")
	asSARIF := f.Bool("sarif", false, "the findings as SARIF 2.1.0, for code scanning")
	schema := f.Bool("schema", false, "print the JSON Schema of --json")
	words, err := parseAnywhere(f, args)
	switch {
	case err != nil:
		return err
	case *schema:
		_, err := out.Write(terminal.Schema())
		return err
	case *asJSON && *asSARIF:
		return errors.New("want --json or --sarif, not both")
	case len(words) > 1:
		return fmt.Errorf("want one diff or one pull request at most, got %q", words)
	case len(words) == 1 && o != (terminal.RangeOptions{}):
		return fmt.Errorf("-C, --base and --head are for a clone; %q is not one", words[0])
	}
	stop := progress(errOut, "reading and scanning")
	report, err := reviewOf(ctx, words, o)
	stop()
	if err != nil {
		return err
	}
	if err := print(out, report, *asJSON, *asSARIF); err != nil {
		return err
	}
	if !report.Passes() {
		return errFound
	}
	return nil
}

// reviewOf chooses the source.
func reviewOf(ctx context.Context, words []string, o terminal.RangeOptions) (terminal.Report, error) {
	switch {
	case len(words) == 0:
		return terminal.Range(ctx, o)
	case words[0] == "-":
		return terminal.Diff(ctx, "standard input", os.Stdin)
	case strings.HasPrefix(words[0], "https://"), strings.HasPrefix(words[0], "http://"):
		return terminal.Pull(ctx, words[0], terminal.PullOptions{Token: token(), APIURL: os.Getenv("GITHUB_V3_API_URL"), Version: version})
	}
	file, err := os.Open(words[0])
	if errors.Is(err, fs.ErrNotExist) {
		return terminal.Report{}, fmt.Errorf("no file %q; want a diff, - for standard input, a pull request's URL, or nothing for this clone", words[0])
	}
	if err != nil {
		return terminal.Report{}, err
	}
	defer file.Close()
	return terminal.Diff(ctx, words[0], file)
}

// token is read as GitHub's own programs do.
func token() string {
	if t := os.Getenv("GITHUB_TOKEN"); t != "" {
		return t
	}
	return os.Getenv("GH_TOKEN")
}

func print(out io.Writer, r terminal.Report, asJSON, asSARIF bool) error {
	var b bytes.Buffer
	var err error
	switch {
	case asSARIF:
		err = r.WriteSARIF(&b, version)
	case asJSON:
		e := json.NewEncoder(&b)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		err = e.Encode(r)
	default:
		err = r.WriteText(&b, isTerminal(out))
	}
	if err != nil {
		return err
	}
	_, err = out.Write(b.Bytes())
	return err
}

// progress says on w that work goes on, once it has taken a second and then every
// five. The returned function ends it.
func progress(w io.Writer, what string) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		start := time.Now()
		wait := time.NewTimer(time.Second)
		defer wait.Stop()
		for {
			select {
			case <-done:
				return
			case <-wait.C:
				fmt.Fprintf(w, "%s, %s so far\n", what, time.Since(start).Round(time.Second))
				wait.Reset(5 * time.Second)
			}
		}
	}()
	return func() { close(done); <-ended }
}
