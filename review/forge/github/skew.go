package github

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/rs/zerolog"
)

// longestSkew bounds how wrong our clock may be: beyond, somebody has to set it.
const longestSkew = 24 * time.Hour

// skew is how far GitHub's clock is ahead of ours, learnt when it refuses one of the
// App's own tokens for its times (case 49).
type skew struct {
	mu     sync.Mutex
	offset time.Duration
}

func (s *skew) get() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offset
}

// learn takes the offset that an answer shows, and reports whether it is another one.
func (s *skew) learn(resp *http.Response, now time.Time) bool {
	theirs, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return false
	}
	offset := theirs.Sub(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	if offset.Abs() > longestSkew || (offset-s.offset).Abs() < 2*time.Second {
		return false
	}
	s.offset = offset
	return true
}

// resign makes a call of the App once more, with a token by GitHub's clock, when the
// first was refused for its times.
type resign struct {
	next  http.RoundTripper // signs
	skew  *skew
	clock clock
	log   zerolog.Logger
}

func (r *resign) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !aboutTimes(parseRefusal(resp).message) || !r.skew.learn(resp, r.clock.now()) {
		return resp, err
	}
	r.log.Warn().Dur("ahead", -r.skew.get()).Msg("this machine's clock differs from GitHub's, whose time is used for the App's tokens: set it by NTP")
	second, err := again(req)
	if err != nil {
		return nil, err
	}
	return r.next.RoundTrip(second)
}

// aboutTimes reports whether GitHub's words refuse a token for when it was issued or
// ends.
func aboutTimes(message string) bool {
	words := strings.FieldsFunc(strings.ToLower(message), func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.Contains(words, "iat") || slices.Contains(words, "exp")
}
