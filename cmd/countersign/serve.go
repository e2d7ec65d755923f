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
	"github.com/countersign/countersign/app/telemetry"
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
	telemetry.JoinLogs(logger)
	for _, f := range config.Mistyped(os.Environ()) {
		logger.Warn().Str("setting", f.Name).Str("where", f.Where).Msg(f.Problem)
	}

	starting, cancel := context.WithTimeout(ctx, startGrace)
	defer cancel()
	// The address first: a port in use should not cost a migration.
	l, err := listen(starting, settings.ListenAddr, "LISTEN_ADDR")
	if err != nil {
		return err
	}
	tracing, err := telemetry.TracingFromEnv(starting, os.LookupEnv, version)
	if err != nil {
		l.Close()
		return err
	}
	ops := app.NewOps(version, logger, tracing)
	stop, err := serveOps(starting, ops, settings.OpsAddr, logger)
	if err != nil {
		l.Close()
		return err
	}
	defer stop()
	a, err := app.New(starting, settings, app.Options{Version: version, Logger: logger, Ops: ops})
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

func listen(ctx context.Context, addr, setting string) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("it is in use; set %s or stop the other process", setting)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	return l, nil
}

// serveOps serves what operators see, from before the migrations until after
// the service has stopped.
func serveOps(ctx context.Context, ops *app.Ops, addr string, logger zerolog.Logger) (stop func(), err error) {
	closeOps := func() {
		if err := ops.Close(); err != nil {
			logger.Warn().Err(err).Msg("stop serving metrics")
		}
	}
	if addr == "" {
		return closeOps, nil
	}
	l, err := listen(ctx, addr, "COUNTERSIGN_OPS_ADDR")
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := ops.Serve(l); err != nil {
			logger.Error().Err(err).Msg("metrics are not served any more")
		}
	}()
	logger.Info().Str("ops_addr", l.Addr().String()).Msg("serving metrics, health and readiness")
	return func() {
		closeOps()
		<-done
	}, nil
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
