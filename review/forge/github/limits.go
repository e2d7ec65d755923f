package github

import (
	"fmt"
	"time"
)

// Limits bounds what one Host asks of GitHub and of itself. A zero field takes
// its default; a negative one is refused.
type Limits struct {
	// CallTimeout is the deadline of one attempt, body included; 30 s.
	CallTimeout time.Duration
	// JSONBytes bounds an answer that is decoded; 32 MiB. GitHub's largest, 100
	// files with a patch each or a tree of 100,000 entries, stay well below.
	JSONBytes int64
	// ErrorBytes bounds what is read of a refusal; 64 KiB. The rest is dropped.
	ErrorBytes int64
	// Tries is how often a harmless call is attempted in all; 3.
	Tries int
	// Backoff is the pause before the second try, doubled for each further one
	// and jittered by half; 250 ms.
	Backoff time.Duration
	// WaitInPlace is the longest rate limit that is waited for, once, inside a
	// call; 5 s. Longer ones are returned, for the job to come back.
	WaitInPlace time.Duration
	// A server without GitHub's limits takes more writes a minute; the limits below
	// default to more in proportion.
	//
	// WritesPerMinute and WritesPerHour are GitHub's secondary limits for calls of one
	// installation that create content, 80 and 500, of which a tenth is left alone.
	WritesPerMinute int
	WritesPerHour   int
	// PointsPerMinute and GraphQLPointsPerMinute are its limits by points, 900 and
	// 2,000: a read is 1, a write 5.
	PointsPerMinute        int
	GraphQLPointsPerMinute int
	// RulesTTL is how long a branch's required names are kept; 60 s.
	RulesTTL time.Duration
	// TokenMargin is the least life that a token has left when it is used; 5 min.
	TokenMargin time.Duration
	// Installations is for how many installations tokens are kept warm; 10,000.
	Installations int
}

func (l Limits) withDefaults() (Limits, error) {
	durations := []struct {
		name string
		v    *time.Duration
		def  time.Duration
	}{
		{"CallTimeout", &l.CallTimeout, 30 * time.Second},
		{"Backoff", &l.Backoff, 250 * time.Millisecond},
		{"WaitInPlace", &l.WaitInPlace, 5 * time.Second},
		{"RulesTTL", &l.RulesTTL, time.Minute},
		{"TokenMargin", &l.TokenMargin, 5 * time.Minute},
	}
	for _, d := range durations {
		if *d.v < 0 {
			return l, fmt.Errorf("%s is %s: want more than 0", d.name, *d.v)
		}
		if *d.v == 0 {
			*d.v = d.def
		}
	}
	counts := []struct {
		name string
		v    *int
		def  int
	}{
		{"Tries", &l.Tries, 3},
		{"WritesPerMinute", &l.WritesPerMinute, writesPerMinute},
		{"WritesPerHour", &l.WritesPerHour, inProportion(500, l.WritesPerMinute)},
		{"PointsPerMinute", &l.PointsPerMinute, inProportion(900, l.WritesPerMinute)},
		{"GraphQLPointsPerMinute", &l.GraphQLPointsPerMinute, inProportion(2_000, l.WritesPerMinute)},
		{"Installations", &l.Installations, 10_000},
	}
	for _, c := range counts {
		if *c.v < 0 {
			return l, fmt.Errorf("%s is %d: want more than 0", c.name, *c.v)
		}
		if *c.v == 0 {
			*c.v = c.def
		}
	}
	sizes := []struct {
		name string
		v    *int64
		def  int64
	}{
		{"JSONBytes", &l.JSONBytes, 32 << 20},
		{"ErrorBytes", &l.ErrorBytes, 64 << 10},
	}
	for _, s := range sizes {
		if *s.v < 0 {
			return l, fmt.Errorf("%s is %d: want more than 0", s.name, *s.v)
		}
		if *s.v == 0 {
			*s.v = s.def
		}
	}
	return l, nil
}

// writesPerMinute is GitHub's documented limit for requests that create content.
const writesPerMinute = 80

// inProportion is a default that grows with the writes that are allowed a minute.
func inProportion(usual, writes int) int {
	return max(usual, int(int64(usual)*int64(writes)/writesPerMinute))
}
