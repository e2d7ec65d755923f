package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/countersign/countersign/app"
	"github.com/countersign/countersign/config"
)

// startGrace bounds what happens before serving: migrations and one question
// to GitHub.
const startGrace = time.Minute

const settingsAbout = `Run the GitHub App. Settings come from the environment, then from a YAML file
($COUNTERSIGN_CONFIG or --config) that has the same names in lower case, such as
listen_addr: ":8080". Secrets may also be read from files: NAME_FILE is the path.

`

func serve(ctx context.Context, args []string, out, errOut io.Writer) (err error) {
	f := flags("serve", settingsAbout+settingsHelp(), errOut)
	file := f.String("config", "", "a YAML file with settings (default: $COUNTERSIGN_CONFIG)")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := noMore("serve", f.Args()); err != nil {
		return err
	}
	settings, err := config.Load(config.Sources{Env: os.LookupEnv, File: *file})
	if err != nil {
		return err
	}
	level, err := zerolog.ParseLevel(settings.LogLevel)
	if err != nil {
		return fmt.Errorf("log level: %w", err)
	}
	logger := zerolog.New(errOut).Level(level).With().Timestamp().Logger()

	starting, cancel := context.WithTimeout(ctx, startGrace)
	defer cancel()
	// The address first: a port in use should not cost a migration.
	var lc net.ListenConfig
	l, err := lc.Listen(starting, "tcp", settings.ListenAddr)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			err = errors.New("it is in use; set LISTEN_ADDR or stop the other process")
		}
		return fmt.Errorf("listen on %s: %w", settings.ListenAddr, err)
	}
	a, err := app.New(starting, settings, app.Options{Version: version, Logger: logger})
	if err != nil {
		l.Close()
		return err
	}
	defer func() {
		if cerr := a.Close(); err == nil {
			err = cerr
		}
	}()
	if err := a.Check(starting); err != nil {
		l.Close()
		return err
	}
	return a.Run(ctx, l)
}

func settingsHelp() string {
	var s string
	for _, d := range config.Reference() {
		s += fmt.Sprintf("  %-36s %s", d.Name, d.Meaning)
		if d.Default != "" {
			s += " (" + d.Default + ")"
		}
		s += "\n"
	}
	return s
}
