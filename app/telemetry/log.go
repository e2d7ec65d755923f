package telemetry

import (
	"log"
	"log/slog"
	"strings"

	"github.com/go-logr/logr"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
)

// maxLine bounds a line that another program's logger hands over.
const maxLine = 4 << 10

// StdLogger is for those who log with the standard library, such as net/http:
// their lines join ours, as warnings.
func StdLogger(logger zerolog.Logger) *log.Logger {
	return log.New(lines{logger}, "", 0)
}

// JoinLogs lets everything in this process that logs by itself join the stream: the
// standard library's logger, slog's, and OpenTelemetry's, which otherwise print
// lines of their own to standard error. It sets what is global in these, and is for
// a program's main function.
func JoinLogs(logger zerolog.Logger) {
	handler := zerolog.NewSlogHandler(logger.Level(max(logger.GetLevel(), zerolog.WarnLevel)))
	slog.SetDefault(slog.New(handler)) // takes log's output too, which is then set
	log.SetFlags(0)
	log.SetOutput(lines{logger})
	otel.SetLogger(logr.FromSlogHandler(handler))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		logger.Warn().Err(err).Msg("traces are incomplete")
	}))
}

type lines struct{ logger zerolog.Logger }

func (l lines) Write(p []byte) (int, error) {
	text := strings.TrimSpace(string(p[:min(len(p), maxLine)]))
	l.logger.Warn().Msg(text)
	return len(p), nil
}
