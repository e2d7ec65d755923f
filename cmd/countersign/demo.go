package main

import (
	"context"
	"io"
	"os"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app/demo"
)

const demoHelp = `Show what Countersign does: the real service on an embedded database, a simulated
GitHub beside it, signed deliveries over HTTP. Needs git; touches nothing outside a
temporary folder; ends by itself.`

func demoCommand(ctx context.Context, args []string, out, errOut io.Writer) error {
	f := flags("demo", demoHelp, errOut)
	keep := f.Bool("keep", false, "leave everything up until Ctrl-C")
	verbose := f.Bool("log", false, "print the service's log as well")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := noMore("demo", f.Args()); err != nil {
		return err
	}
	logger := zerolog.Nop()
	if *verbose {
		logger = zerolog.New(errOut).With().Timestamp().Logger()
	}
	return demo.Run(ctx, demo.Options{Out: out, Version: version, Keep: *keep, Color: isTerminal(out), Logger: logger})
}

// isTerminal: colours go to people, not to files; NO_COLOR is respected.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("NO_COLOR") != "" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
