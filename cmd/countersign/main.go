// Command countersign decides how risky a pull request is, checks what is
// claimed about it against evidence, and says so in a check run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the linker.
var version = "dev"

// Exit codes, for scripts.
const (
	exitOK    = 0
	exitFound = 1 // the command ran and what it looked at is not in order
	exitUsage = 2 // the command could not run
)

type command struct {
	name, summary string
	run           func(ctx context.Context, args []string, out, errOut io.Writer) error
}

func commands() []command {
	return []command{
		{"serve", "run the GitHub App; settings from the environment", serve},
		{"review", "take a change through the gates before it is pushed", reviewCommand},
		{"survey", "what the rules would have said of a repository's history", surveyCommand},
		{"demo", "show what it does, against a GitHub of its own", demoCommand},
		{"trail", "show or verify what was recorded", trailCommand},
		{"version", "print the version", func(_ context.Context, args []string, out, _ io.Writer) error {
			if err := noMore("version", args); err != nil {
				return err
			}
			_, err := fmt.Fprintln(out, version)
			return err
		}},
	}
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second one ends what does not listen, such as a read of standard input
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// errFound is a command's way to say exitFound after it has printed what it found.
var errFound = errors.New("not in order")

func run(ctx context.Context, args []string, out, errOut io.Writer) int {
	if len(args) == 0 {
		usage(errOut)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "--help":
		usage(out)
		return exitOK
	case "--version":
		args = []string{"version"}
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		switch err := c.run(ctx, args[1:], out, errOut); {
		case err == nil, errors.Is(err, flag.ErrHelp):
			return exitOK
		case errors.Is(err, errFound):
			return exitFound
		case ctx.Err() != nil && errors.Is(err, context.Canceled):
			fmt.Fprintf(errOut, "countersign %s: interrupted\n", c.name)
			return exitUsage
		default:
			fmt.Fprintf(errOut, "countersign %s: %v\n", c.name, err)
			return exitUsage
		}
	}
	fmt.Fprintf(errOut, "countersign: unknown command %q\n\n", args[0])
	usage(errOut)
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprintf(w, "countersign COMMAND\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-9s %s\n", c.name, c.summary)
	}
	fmt.Fprintf(w, "\ncountersign COMMAND -h tells more.\n")
}

// parseAnywhere reads flags that may stand anywhere among the words. Behind "--"
// everything is a word.
func parseAnywhere(f *flag.FlagSet, args []string) (words []string, err error) {
	for rest := args; ; rest = f.Args()[1:] {
		if err := f.Parse(rest); err != nil {
			return nil, err
		}
		if n := len(rest) - f.NArg(); n > 0 && rest[n-1] == "--" {
			return append(words, f.Args()...), nil
		}
		if f.NArg() == 0 {
			return words, nil
		}
		words = append(words, f.Arg(0))
	}
}

// noMore refuses arguments that a command would not look at.
func noMore(name string, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no arguments, got %q", name, args)
}

// flags returns a flag set that prints to w and never exits by itself.
func flags(name, about string, w io.Writer) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(w)
	f.Usage = func() {
		fmt.Fprintf(w, "countersign %s\n\n%s\n\n", name, about)
		f.PrintDefaults()
	}
	return f
}
