package collect

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/countersign/countersign/review/forge"
)

// maxExcerpt bounds what is kept of a check's output, in bytes.
const maxExcerpt = 400

// digest is the SHA-256 of what a check said, every field with its length, so
// that no two rows can share one by shifting text between fields.
func digest(c forge.Check) string {
	h := sha256.New()
	for _, field := range []string{
		string(c.Kind), strconv.FormatInt(c.ID, 10), strconv.FormatInt(c.AppID, 10), c.App,
		c.Name, c.Workflow, c.Event, strconv.Itoa(c.Attempt), c.Status, c.Conclusion,
		stamp(c.StartedAt), stamp(c.CompletedAt), c.URL, c.ExternalID, c.Title, c.Summary,
	} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(field)))
		h.Write(n[:])
		h.Write([]byte(field))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// excerpt is the beginning of a check's own words.
func excerpt(c forge.Check) string {
	text := strings.TrimSpace(c.Title)
	if s := strings.TrimSpace(c.Summary); s != "" && s != text {
		text = strings.TrimSpace(text + "\n" + s)
	}
	return clip(text, maxExcerpt)
}

// clip cuts to at most n bytes of valid UTF-8 (case 38).
func clip(s string, n int) string {
	s = strings.ToValidUTF8(s, "")
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}
