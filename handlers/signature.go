package handlers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"net/http"
	"strings"
	"sync"
)

const signaturePrefix = "sha256="

// keys checks signatures. A keyed hash costs two blocks to set up and is made
// once per goroutine that needs one.
type keys struct {
	pools []*sync.Pool
}

func newKeys(secrets [][]byte) *keys {
	k := &keys{}
	for _, s := range secrets {
		secret := append([]byte(nil), s...)
		k.pools = append(k.pools, &sync.Pool{New: func() any { return hmac.New(sha256.New, secret) }})
	}
	return k
}

// check compares X-Hub-Signature-256 with the raw body under each secret, in
// constant time. SHA-1 signatures are not accepted: GitHub sends both, and the
// weaker would decide.
func (k *keys) check(head http.Header, body []byte) *refusal {
	given, ok := strings.CutPrefix(head.Get("X-Hub-Signature-256"), signaturePrefix)
	if !ok {
		if head.Get("X-Hub-Signature") != "" {
			return refuse(http.StatusUnauthorized, "only X-Hub-Signature-256 is accepted, SHA-1 is not")
		}
		return refuse(http.StatusUnauthorized, "the delivery is not signed; set a webhook secret in the App's settings")
	}
	want, err := hex.DecodeString(given)
	if err != nil || len(want) != sha256.Size {
		return refuse(http.StatusUnauthorized, "X-Hub-Signature-256 is not sha256= and 64 hexadecimal digits")
	}
	authentic := false
	for _, pool := range k.pools {
		// Every secret is tried, so that the time does not tell which one holds.
		authentic = equalMAC(pool, body, want) || authentic
	}
	if !authentic {
		return refuse(http.StatusForbidden, "the signature does not match; the webhook secret here and in the App's settings differ")
	}
	return nil
}

func equalMAC(pool *sync.Pool, body, want []byte) bool {
	mac, ok := pool.Get().(hash.Hash)
	if !ok {
		return false
	}
	defer pool.Put(mac)
	mac.Reset()
	mac.Write(body) // a hash never fails
	var sum [sha256.Size]byte
	return hmac.Equal(mac.Sum(sum[:0]), want)
}
