package local

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // git's object ids are SHA-1
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"github.com/countersign/countersign/review/forge"
)

// Blob reads one blob and holds its bytes against its id: git does not, and a
// clone is free to store other bytes under it. The repository's name is not
// looked at. It refuses with KindTooLarge above max bytes, with KindNotFound
// what is not there or no blob, with KindMalformed bytes that are not the id's.
func (r *Repo) Blob(ctx context.Context, _ forge.Repo, oid string, max int64) ([]byte, error) {
	op := "read blob " + short(oid)
	if !isID(oid) || max <= 0 {
		return nil, refuse(forge.KindInvalid, op, errors.New("want a full object id and a positive bound"), "")
	}
	_, size, err := r.stat(ctx, oid)
	if err != nil {
		return nil, r.wrap(op, err)
	}
	if size > max {
		return nil, refuse(forge.KindTooLarge, op, fmt.Errorf("%d bytes, at most %d are read", size, max), "")
	}
	data, err := r.readBlob(ctx, oid, size)
	if err != nil {
		return nil, r.wrap(op, err)
	}
	return data, nil
}

// Content reads a file as the range's head has it; of a symlink, its target. A
// work tree's content is what a commit of it would hold, with the line ends that
// git would store. Errors are those of Blob.
func (r *Repo) Content(ctx context.Context, rg Range, path string, max int64) ([]byte, error) {
	op := fmt.Sprintf("read %.200q at %s", path, short(rg.Head))
	if !isID(rg.Head) || !isTreePath(path) {
		return nil, refuse(forge.KindInvalid, op, errors.New("want a range from Range and a path as a tree has it"), "")
	}
	if why, ok := rg.unread[path]; ok {
		return nil, refuse(forge.KindTooLarge, op, errors.New(why), "")
	}
	oid, err := r.entry(ctx, rg.Head, path)
	if err != nil {
		return nil, r.wrap(op, err)
	}
	return r.Blob(ctx, forge.Repo{}, oid, max)
}

// entry returns the id of what a commit has at a path.
func (r *Repo) entry(ctx context.Context, commit, path string) (string, error) {
	if !strings.ContainsAny(path, "\n\r\x00") {
		oid, _, err := r.stat(ctx, commit+":"+path)
		return oid, err
	}
	// The protocol of cat-file is one of lines.
	out, err := r.whole(ctx, command{args: []string{"ls-tree", "-z", "--full-tree", commit, "--", path}})
	if err != nil {
		return "", err
	}
	head, _, _ := strings.Cut(out, "\t")
	fields := strings.Fields(head)
	if len(fields) != 3 || fields[1] != "blob" || !isID(fields[2]) {
		return "", refuse(forge.KindNotFound, "look up path", errors.New("no file there"), "")
	}
	return fields[2], nil
}

// stat asks for a blob's id and size.
func (r *Repo) stat(ctx context.Context, name string) (oid string, size int64, err error) {
	err = r.sizes.ask(ctx, r, name, func(out *bufio.Reader) error {
		oid, size, err = r.header(out)
		return err
	})
	return oid, size, err
}

// readBlob reads the bytes of a blob whose size is known.
func (r *Repo) readBlob(ctx context.Context, oid string, size int64) ([]byte, error) {
	var data []byte
	err := r.blobs.ask(ctx, r, oid, func(out *bufio.Reader) error {
		_, again, err := r.header(out)
		if err != nil {
			return err
		}
		if again != size {
			return broken(fmt.Errorf("its size was %d and is %d", size, again))
		}
		data = make([]byte, size)
		if _, err := io.ReadFull(out, data); err != nil {
			return broken(err)
		}
		if end, err := out.ReadByte(); err != nil || end != '\n' {
			return broken(errors.New("no line end behind the content"))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if blobID(data, len(oid)) != oid {
		return nil, refuse(forge.KindMalformed, "read blob "+short(oid), errors.New("the bytes are not those of that id"), "the clone is damaged or made to mislead: clone it anew")
	}
	return data, nil
}

// blobID is the id that git gives to these bytes, of so many hex digits.
func blobID(data []byte, digits int) string {
	h := sha1.New() //nolint:gosec // git's object ids are SHA-1
	if digits == 2*sha256.Size {
		h = sha256.New()
	}
	h.Write([]byte("blob " + strconv.Itoa(len(data)) + "\x00"))
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// header reads the line that cat-file puts before an object: id, type, size.
func (r *Repo) header(out *bufio.Reader) (oid string, size int64, err error) {
	line, err := readLine(out)
	if err != nil {
		return "", 0, broken(err)
	}
	fields := strings.Fields(line)
	if len(fields) == 3 && isID(fields[0]) {
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil || size < 0 {
			return "", 0, broken(fmt.Errorf("no size in %.80q", line))
		}
		if fields[1] == "blob" {
			return fields[0], size, nil
		}
		// Whatever it is, its content would come next: the process is given up.
		return "", 0, broken(refuse(forge.KindNotFound, "look up object", fmt.Errorf("a %.10s, not a file", fields[1]), ""))
	}
	switch {
	case strings.HasSuffix(line, " missing"), strings.HasSuffix(line, " ambiguous"):
		hint := ""
		if r.settings.partial || r.shallow {
			hint = r.missingHint()
		}
		return "", 0, refuse(forge.KindNotFound, "look up object", errors.New("not in this repository"), hint)
	}
	return "", 0, broken(fmt.Errorf("git cat-file answered %.80q", line))
}

// maxAnswer bounds a line of cat-file: it repeats the path it was asked for.
const maxAnswer = 1 << 20

func readLine(out *bufio.Reader) (string, error) {
	var b bytes.Buffer
	for b.Len() < maxAnswer {
		part, err := out.ReadSlice('\n')
		b.Write(part)
		if err == nil {
			return strings.TrimSuffix(b.String(), "\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
	}
	return "", errors.New("a line without end")
}

// brokenError says that the process's next answer cannot be told from this one.
type brokenError struct{ error }

func broken(err error) error { return brokenError{err} }

func (b brokenError) Unwrap() error { return b.error }

// batch is one git cat-file that lives on between questions.
type batch struct {
	args []string

	mu     sync.Mutex
	cancel context.CancelFunc
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	closed bool
}

// ask puts one question, which is a line, and has the answer read. The process
// is started when it is needed, and ended when an answer broke off.
func (b *batch) ask(ctx context.Context, r *Repo, line string, read func(*bufio.Reader) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if b.closed {
		return refuse(forge.KindInvalid, "read object", errors.New("the repository is closed"), "")
	}
	if b.cmd == nil {
		if err := b.start(r); err != nil {
			return err
		}
	}
	limited, stop := context.WithTimeout(ctx, r.timeout)
	defer stop()
	kill := b.cancel
	defer context.AfterFunc(limited, kill)()
	_, err := io.WriteString(b.in, line+"\n")
	if err != nil {
		err = broken(err)
	} else {
		err = read(b.out)
	}
	var lost brokenError
	if errors.As(err, &lost) {
		b.end()
		err = lost.error
	}
	if limited.Err() != nil {
		b.end() // it was killed, perhaps behind its answer
		if err != nil {
			err = limited.Err()
		}
	}
	return err
}

func (b *batch) start(r *Repo) error {
	// The process outlives the question, and the question's context.
	ctx, cancel := context.WithCancel(context.Background())
	cmd := r.cmd(ctx, command{args: b.args})
	in, err := cmd.StdinPipe()
	if err != nil {
		cancel()
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		cancel()
		return err
	}
	if err := cmd.Start(); err != nil {
		cancel()
		return err
	}
	b.cmd, b.cancel, b.in, b.out = cmd, cancel, in, bufio.NewReaderSize(out, 64<<10)
	return nil
}

// end ends the process. b.mu is held.
func (b *batch) end() {
	if b.cmd == nil {
		return
	}
	b.cancel()
	_ = b.in.Close()
	_ = b.cmd.Wait() // it was killed
	b.cmd = nil
}

// stop ends the process for good.
func (b *batch) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.end()
}

// short is how an id is named to people.
func short(oid string) string {
	if isID(oid) {
		return oid[:12]
	}
	return fmt.Sprintf("%.40q", oid)
}

// isTreePath reports whether path is one that a tree can have: no empty, "." or
// ".." parts, not absolute.
func isTreePath(path string) bool {
	if path == "" || strings.IndexByte(path, 0) >= 0 {
		return false
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}
