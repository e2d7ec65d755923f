package main_test

import (
	"bytes"
	"context"
	bits "encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"sync"
	"testing"
)

// pgProxy stands between a process and PostgreSQL and counts the commits that
// change our tables, so that a test can kill the process exactly before or after
// one of them: what the process itself cannot be asked to do.
type pgProxy struct {
	target string // of the server: HOST:PORT
	ln     net.Listener

	mu    sync.Mutex
	n     int // commits so far
	at    int // the one to act at; 0: none
	after bool
	act   func() // runs once
	conns map[net.Conn]bool
}

func newPGProxy(t testing.TB, target string) *pgProxy {
	t.Helper()
	ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pgProxy{target: target, ln: ln, conns: make(map[net.Conn]bool)}
	go p.accept()
	t.Cleanup(func() {
		ln.Close()
		p.cut()
	})
	return p
}

func (p *pgProxy) addr() string { return p.ln.Addr().String() }

// at the n-th commit from now on, before it reaches the server or after the
// server has done it and before the process hears of it, act is called and the
// connection is dead.
func (p *pgProxy) arm(n int, after bool, act func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n, p.at, p.after, p.act = 0, n, after, act
}

// cut closes every connection, as a database that restarts does.
func (p *pgProxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

func (p *pgProxy) accept() {
	for {
		c, err := p.ln.Accept()
		if err != nil {
			return
		}
		go p.serve(c)
	}
}

func (p *pgProxy) serve(client net.Conn) {
	defer client.Close()
	server, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", p.target)
	if err != nil {
		return
	}
	defer server.Close()
	p.mu.Lock()
	p.conns[client], p.conns[server] = true, true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, client)
		delete(p.conns, server)
	}()
	l := &link{proxy: p, client: client, server: server, statements: make(map[string]bool)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.answers() //nolint:errcheck // a connection that ends
		client.Close()
		server.Close()
	}()
	l.requests() //nolint:errcheck // a connection that ends
	client.Close()
	server.Close()
	<-done
}

// hit counts a commit and says whether it is the one.
func (p *pgProxy) hit() (now, after bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.n++
	return p.n == p.at, p.after
}

func (p *pgProxy) fire() {
	p.mu.Lock()
	act := p.act
	p.act = nil
	p.mu.Unlock()
	if act != nil {
		act()
	}
}

// link is one connection. Which statements change our tables is learnt when they
// are prepared.
type link struct {
	proxy          *pgProxy
	client, server net.Conn
	statements     map[string]bool
	inTx, wrote    bool

	mu   sync.Mutex
	dead bool // the next "ready for query" is the answer to the commit
}

var (
	errFired = errors.New("the process was stopped here")
	changes  = regexp.MustCompile(`(?is)\b(?:insert\s+into|update|delete\s+from)\s+"?(?:deliveries|delivery_payloads|subjects|pulls|trail|chains|publications|publication_views|sessions|heads|check_sources|repos|comments|postings|reconcile_\w+|river_job)\b`)
	begins   = regexp.MustCompile(`(?i)^\s*(?:begin|start transaction)`)
	commits  = regexp.MustCompile(`(?i)^\s*(?:commit|end)\b`)
	undoes   = regexp.MustCompile(`(?i)^\s*rollback\b`)
)

// requests relays what the process sends.
func (l *link) requests() error {
	if err := l.startup(); err != nil {
		return err
	}
	for {
		typ, raw, err := message(l.client)
		if err != nil {
			return err
		}
		if l.isCommit(typ, raw[5:]) {
			now, after := l.proxy.hit()
			switch {
			case now && !after:
				l.proxy.fire()
				return errFired
			case now:
				l.mu.Lock()
				l.dead = true
				l.mu.Unlock()
			}
		}
		if _, err := l.server.Write(raw); err != nil {
			return err
		}
	}
}

// isCommit follows transactions and reports a message that makes changes of ours
// last.
func (l *link) isCommit(typ byte, body []byte) bool {
	switch typ {
	case 'P':
		name, rest, _ := bytes.Cut(body, []byte{0})
		query, _, _ := bytes.Cut(rest, []byte{0})
		l.statements[string(name)] = changes.Match(query)
	case 'B':
		_, rest, _ := bytes.Cut(body, []byte{0})
		name, _, _ := bytes.Cut(rest, []byte{0})
		if !l.statements[string(name)] {
			return false
		}
		l.wrote = true
		return !l.inTx
	case 'Q':
		query, _, _ := bytes.Cut(body, []byte{0})
		switch {
		case begins.Match(query):
			l.inTx, l.wrote = true, false
		case commits.Match(query):
			wrote := l.wrote
			l.inTx, l.wrote = false, false
			return wrote
		case undoes.Match(query):
			l.inTx, l.wrote = false, false
		case changes.Match(query):
			l.wrote = true
			return !l.inTx
		}
	}
	return false
}

// answers relays what the server answers, up to the one that the process must not
// hear.
func (l *link) answers() error {
	for {
		typ, raw, err := message(l.server)
		if err != nil {
			return err
		}
		l.mu.Lock()
		dead := l.dead
		l.mu.Unlock()
		if dead {
			if typ == 'Z' {
				l.proxy.fire()
				return errFired
			}
			continue
		}
		if _, err := l.client.Write(raw); err != nil {
			return err
		}
	}
}

// startup relays the first message, which has no type. Encryption is not asked
// for: the address says so.
func (l *link) startup() error {
	var head [4]byte
	if _, err := io.ReadFull(l.client, head[:]); err != nil {
		return err
	}
	raw, err := rest(l.client, head[:], bits.BigEndian.Uint32(head[:]))
	if err != nil {
		return err
	}
	_, err = l.server.Write(raw)
	return err
}

// message reads one message: its type, and all of it.
func message(r io.Reader) (byte, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	raw, err := rest(r, head[:], bits.BigEndian.Uint32(head[1:])+1)
	return head[0], raw, err
}

func rest(r io.Reader, head []byte, size uint32) ([]byte, error) {
	const most = 64 << 20
	if size < uint32(len(head)) || size > most {
		return nil, fmt.Errorf("a message of %d bytes", size)
	}
	raw := make([]byte, size)
	copy(raw, head)
	_, err := io.ReadFull(r, raw[len(head):])
	return raw, err
}
