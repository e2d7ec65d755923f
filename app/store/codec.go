package store

import (
	"errors"
	"fmt"

	"github.com/klauspost/compress/s2"
)

// maxPayload bounds what is stored compressed when it is read back: GitHub sends
// at most 25 MB, so anything larger was not written by us.
const maxPayload = 25 << 20

// codec compresses what is large and seldom read.
type codec struct{}

// pack compresses. Webhook bodies repeat themselves: S2 makes a sixth
// of them in a third of zstd's time, and costs less than writing the rest would.
func (codec) pack(raw []byte) []byte { return s2.Encode(nil, raw) }

func (codec) unpack(packed []byte) ([]byte, error) {
	n, err := s2.DecodedLen(packed)
	if err != nil {
		return nil, fmt.Errorf("decompress payload: %w", err)
	}
	if n > maxPayload {
		return nil, errors.New("decompress payload: it says to be larger than a payload can be")
	}
	raw, err := s2.Decode(nil, packed)
	if err != nil {
		return nil, fmt.Errorf("decompress payload: %w", err)
	}
	return raw, nil
}
