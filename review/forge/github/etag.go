package github

import (
	"bytes"
	"container/list"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// revalidate asks GitHub whether a kept answer still holds. A 304 costs nothing
// of the rate limit. Unlike a general HTTP cache it never answers by itself,
// whatever Cache-Control allows: an old answer about rules or people would be
// taken for a new one.
type revalidate struct {
	next  http.RoundTripper
	cache *etags
}

func (v *revalidate) RoundTrip(req *http.Request) (*http.Response, error) {
	c := callOf(req)
	if !c.revalidate || req.Method != http.MethodGet {
		return v.next.RoundTrip(req)
	}
	// Two installations may see different things at one address.
	key := fmt.Sprintf("%d %s %s", c.installation, req.Header.Get("Accept"), req.URL)
	kept, ok := v.cache.get(key)
	if ok {
		req = req.Clone(req.Context())
		req.Header.Set("If-None-Match", kept.tag)
	}
	resp, err := v.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	switch {
	case resp.StatusCode == http.StatusNotModified && ok:
		resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
		resp.Body = io.NopCloser(bytes.NewReader(kept.body))
		resp.ContentLength = int64(len(kept.body))
		if kept.link != "" {
			resp.Header.Set("Link", kept.link)
		}
	case resp.StatusCode == http.StatusOK && resp.Header.Get("ETag") != "":
		v.cache.put(key, keep(resp))
	}
	return resp, nil
}

func keep(resp *http.Response) keptAnswer {
	return keptAnswer{tag: resp.Header.Get("ETag"), link: resp.Header.Get("Link"), body: peek(resp)}
}

// keptAnswer is what is needed to answer again.
type keptAnswer struct {
	tag, link string
	body      []byte
}

const (
	maxKept      = 1024
	maxKeptBytes = 64 << 10 // rules and permissions are a few kilobytes
)

// etags is a bounded store of answers, least recently used out first.
type etags struct {
	mu    sync.Mutex
	byKey map[string]*list.Element
	order *list.List
}

type etagEntry struct {
	key    string
	answer keptAnswer
}

func newETags() *etags {
	return &etags{byKey: make(map[string]*list.Element), order: list.New()}
}

func (e *etags) get(key string) (keptAnswer, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	el, ok := e.byKey[key]
	if !ok {
		return keptAnswer{}, false
	}
	e.order.MoveToFront(el)
	entry, ok := el.Value.(*etagEntry)
	if !ok {
		return keptAnswer{}, false
	}
	return entry.answer, true
}

func (e *etags) put(key string, a keptAnswer) {
	if len(a.body) > maxKeptBytes {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if el, ok := e.byKey[key]; ok {
		el.Value = &etagEntry{key: key, answer: a}
		e.order.MoveToFront(el)
		return
	}
	e.byKey[key] = e.order.PushFront(&etagEntry{key: key, answer: a})
	if e.order.Len() > maxKept {
		oldest := e.order.Back()
		e.order.Remove(oldest)
		if entry, ok := oldest.Value.(*etagEntry); ok {
			delete(e.byKey, entry.key)
		}
	}
}
