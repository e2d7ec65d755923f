package githubsim

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// idSource hands out ids of the size GitHub's have, so that code which keeps one in 32 bits fails here.
type idSource map[string]int64

func newIDs() idSource {
	return idSource{
		"user": 9_400_000, "org": 61_000_000, "repo": 812_400_000, "app": 910_000, "install": 48_100_000,
		"pull": 1_930_000_000, "issue": 2_410_000_000, "comment": 2_150_000_000, "reaction": 240_000_000,
		"label": 7_100_000_000, "run": 31_400_000_000, "suite": 29_800_000_000, "workflow": 12_100_000_000,
		"status": 33_700_000_000, "delivery": 110_900_000_000, "team": 9_800_000, "ruleset": 1_400_000,
		"hook": 470_000_000, "review": 2_020_000_000, "reviewComment": 1_590_000_000,
		"reviewThread": 1_140_000_000,
	}
}

func (ids idSource) next(kind string) int64 {
	ids[kind]++
	return ids[kind]
}

// nodeID imitates GitHub's opaque global ids.
func nodeID(prefix string, id int64) string {
	var b [9]byte
	b[0] = 0xce
	binary.BigEndian.PutUint64(b[1:], uint64(id)) // ids are positive
	return prefix + "_kwDO" + base64.RawURLEncoding.EncodeToString(b[:])
}

// newGUID is a random version 4 UUID, as delivery ids are.
func newGUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func newTokenText(prefix string) string {
	var b [18]byte
	_, _ = rand.Read(b[:])
	return prefix + hex.EncodeToString(b[:])
}

// stamp writes a time as GitHub's API does; the zero time is null.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// orNull is JSON's null for the empty string.
func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
