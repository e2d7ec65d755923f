package trail

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// encodingVersion opens every encoding, so that a later one can never give an
// earlier one's hash.
const encodingVersion = "countersign trail 1"

// HashLen is the length of a record's hash: SHA-256 in lower-case hex.
const HashLen = 2 * sha256.Size

// HashOf computes a record's hash: SHA-256, in hex, over every column but the
// hash itself, in this order:
//
//	version, prev_hash, id, chain, seq, ts, plan_id, session_id, repo, repo_id,
//	pull, head_sha, phase, type, actor, policy_revision, app_version,
//	SHA-256(body)
//
// A text is its length in bytes (eight bytes, big endian) and its bytes, so that
// no text can run into the next. A number is eight bytes, big endian. ts is
// microseconds since 1970 UTC: what a database keeps. The body counts as the
// exact bytes that are stored, never parsed again, so that neither key order nor
// a round trip matters; it enters as its own SHA-256, so that a redaction may
// put that hash in the body's place and leave the chain intact.
func HashOf(r Record) string {
	e := encoder{h: sha256.New()}
	e.text(encodingVersion)
	e.text(r.PrevHash)
	e.text(r.ID)
	e.text(string(r.Chain))
	e.number(r.Seq)
	e.number(r.TS.UnixMicro())
	e.text(r.PlanID)
	e.text(r.SessionID)
	e.text(r.Repo)
	e.number(r.RepoID)
	e.number(int64(r.Pull))
	e.text(r.HeadSHA)
	e.text(r.Phase)
	e.text(string(r.Type))
	e.text(r.Actor)
	e.text(r.PolicyRevision)
	e.text(r.AppVersion)
	body := sha256.Sum256(r.Body)
	e.text(string(body[:]))
	return hex.EncodeToString(e.h.Sum(nil))
}

// encoder writes columns into a hash; hash.Hash never returns an error.
type encoder struct {
	h   hash.Hash
	buf [8]byte
}

func (e *encoder) number(n int64) {
	binary.BigEndian.PutUint64(e.buf[:], uint64(n)) //nolint:gosec // the bit pattern is what counts
	e.h.Write(e.buf[:])
}

func (e *encoder) text(s string) {
	e.number(int64(len(s)))
	e.h.Write([]byte(s))
}
