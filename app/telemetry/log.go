package telemetry

import (
	"log"
	"strings"

	"github.com/rs/zerolog"
)

// maxLine bounds a line that another program's logger hands over.
const maxLine = 4 << 10

// StdLogger is for those who log with the standard library, such as net/http:
// their lines join ours, as warnings.
func StdLogger(logger zerolog.Logger) *log.Logger {
	return log.New(lines{logger}, "", 0)
}

type lines struct{ logger zerolog.Logger }

func (l lines) Write(p []byte) (int, error) {
	text := strings.TrimSpace(string(p[:min(len(p), maxLine)]))
	l.logger.Warn().Msg(text)
	return len(p), nil
}
