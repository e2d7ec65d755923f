package handlers

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// MaxBody is GitHub's own limit for a payload: 25 MB.
	MaxBody = 25 << 20
	// keepBody is the largest buffer kept for the next delivery. Most payloads
	// are under 100 kB; one of 25 MB must not stay in memory.
	keepBody = 1 << 20
	// largeBodies is how many bodies above keepBody may be in memory at once.
	// They are read before their signature can be checked, so anyone can send
	// them.
	largeBodies = 8
	// largeWait is how long one more waits for its turn.
	largeWait = 5 * time.Second
)

// bodies reads request bodies into buffers that are used again.
type bodies struct {
	pool  sync.Pool
	large chan struct{}
}

func newBodies() *bodies {
	return &bodies{
		pool:  sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, 64<<10)) }},
		large: make(chan struct{}, largeBodies),
	}
}

// body is a request's body until free.
type body struct {
	from  *bodies
	buf   *bytes.Buffer
	large bool
}

func (b *body) bytes() []byte { return b.buf.Bytes() }

func (b *body) free() {
	if b.large {
		<-b.from.large
	}
	if b.buf.Cap() <= 2*keepBody {
		b.buf.Reset()
		b.from.pool.Put(b.buf)
	}
}

// read reads the whole body, at most MaxBody bytes. Memory grows with what
// arrives, not with what is announced.
func (bs *bodies) read(w http.ResponseWriter, r *http.Request) (*body, *refusal) {
	buf, ok := bs.pool.Get().(*bytes.Buffer)
	if !ok {
		buf = new(bytes.Buffer)
	}
	b := &body{from: bs, buf: buf}
	limited := http.MaxBytesReader(w, r.Body, MaxBody)
	_, err := io.CopyN(buf, limited, keepBody)
	if err == nil { // there may be more
		select {
		case bs.large <- struct{}{}:
			b.large = true
		case <-time.After(largeWait):
			b.free()
			return nil, refuse(http.StatusServiceUnavailable, "too many large deliveries at once; redeliver it later")
		}
		_, err = buf.ReadFrom(limited)
	}
	if err == nil || errors.Is(err, io.EOF) {
		return b, nil
	}
	b.free()
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		return nil, tooLarge()
	}
	return nil, refuse(http.StatusBadRequest, "the body could not be read to its end")
}

func tooLarge() *refusal {
	return refuse(http.StatusRequestEntityTooLarge, "the delivery is larger than GitHub's limit of 25 MB")
}
