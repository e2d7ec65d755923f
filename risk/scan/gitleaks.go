package scan

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/rs/zerolog"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/logging"
	"github.com/zricethezav/gitleaks/v8/report"
)

// leaks is gitleaks with its own rules. It may be used by several goroutines.
type leaks struct {
	*detect.Detector
	paths []*config.Allowlist // gitleaks' own, which leave out files by their path
}

// detector builds the detector once: that takes 26 ms, and it goes through global
// state of viper's.
var detector = sync.OnceValues(func() (*leaks, error) {
	// At a level below info gitleaks writes the secrets that it passes over.
	logging.Logger = zerolog.Nop()
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return nil, fmt.Errorf("build the credential scanner: %w", err)
	}
	d.IgnoreGitleaksAllow = true
	l := &leaks{Detector: d, paths: d.Config.Allowlists}
	d.Config.Allowlists = nil
	for _, a := range l.paths {
		content := &config.Allowlist{Description: a.Description, MatchCondition: a.MatchCondition, RegexTarget: a.RegexTarget,
			Regexes: a.Regexes, StopWords: a.StopWords}
		if len(content.Regexes)+len(content.StopWords) == 0 {
			continue
		}
		if err := content.Validate(); err != nil {
			return nil, fmt.Errorf("build the credential scanner: %w", err)
		}
		d.Config.Allowlists = append(d.Config.Allowlists, content)
	}
	return l, nil
})

// detect searches a text. What it returns holds secrets and must not leave the
// scan of the file.
func (l *leaks) detect(ctx context.Context, path, text string) []report.Finding {
	//nolint:staticcheck // SA1019: the type that replaces it is v9's; this method of v8 takes no other
	return l.DetectContext(ctx, detect.Fragment{Raw: text, FilePath: path})
}

// ordinary reports whether gitleaks leaves out files of that path.
func (l *leaks) ordinary(path string) bool {
	for _, a := range l.paths {
		if a.PathAllowed(path) {
			return true
		}
	}
	return false
}

// apart are the empty lines between lines that do not follow each other, so that
// no word and its value are joined that are not together in the file.
const apart = 6

// chunks cuts the wanted lines of a file into chunks. A line that is longer than
// a chunk is cut, too. It ends early with the scanner's context.
func chunks(s *scanner, src *source, want func(line) bool) iter.Seq[chunk] {
	return func(yield func(chunk) bool) {
		var c chunk
		size, last := 0, 0
		fresh := false // something is in the chunk that no chunk had
		flush := func() bool {
			if !fresh {
				return true
			}
			c.text = strings.Join(c.lines, "\n") + "\n"
			full := c
			c, size, fresh = chunk{}, 0, false
			from := len(full.lines)
			for from > 1 && size+len(full.lines[from-1]) < chunkOverlap && len(full.lines)-from < 200 {
				from--
				size += len(full.lines[from]) + 1
			}
			c.lines, c.nos = append(c.lines, full.lines[from:]...), append(c.nos, full.nos[from:]...)
			return s.ctx.Err() == nil && yield(full)
		}
		add := func(no int, text string) bool {
			if size+len(text) > chunkBytes && !flush() {
				return false
			}
			c.lines, c.nos = append(c.lines, text), append(c.nos, no)
			size += len(text) + 1
			fresh = true
			return true
		}
		for _, run := range src.runs {
			for _, l := range run {
				if !want(l) {
					continue
				}
				for i := 0; last > 0 && l.no != last+1 && i < apart; i++ {
					c.lines, c.nos = append(c.lines, ""), append(c.nos, l.no)
					size++
				}
				last = l.no
				text := l.text
				for len(text) > chunkBytes-chunkOverlap {
					if !add(l.no, text[:chunkBytes-chunkOverlap]) {
						return
					}
					text = text[chunkBytes-2*chunkOverlap:]
				}
				if !add(l.no, text) {
					return
				}
			}
		}
		flush()
	}
}
