package proc

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"syscall"
)

// ended is the error of a process that has ended: how it ended, the last that it said, and what to do.
func ended(name, how, said string) error {
	err := fmt.Errorf("%s ended (%s)", name, how)
	if said != "" {
		err = fmt.Errorf("%w; it last said:\n%s", err, said)
	}
	return advise(err)
}

// remedies are what to do where an error says so.
var remedies = []struct{ said, do string }{
	{syscall.EMFILE.Error(), moreFiles},
	{"file descriptor limit", moreFiles}, // etcd
	{syscall.ENOSPC.Error(), moreRoom},
	{syscall.EDQUOT.Error(), moreRoom},
	{syscall.EFBIG.Error(), `allow larger files: "ulimit -f unlimited"`},
}

const (
	moreFiles = `allow more open files: "ulimit -n 1024"`
	moreRoom  = "make room, or set TMPDIR to a directory that has some"
)

// advise adds to an error what to do about it, where that is known.
func advise(err error) error {
	for _, r := range remedies {
		if strings.Contains(err.Error(), r.said) {
			return fmt.Errorf("%w; %s", err, r.do)
		}
	}
	return err
}

// tail keeps the end of what is written to it, up to the trace of a panic: what
// went wrong is said before that.
type tail struct {
	mu     sync.Mutex
	buf    []byte
	traced bool
}

const tailSize = 4 << 10 // bytes

// trace begins a panic's trace, after an empty line.
var trace = []byte("\n\ngoroutine ")

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.traced {
		return len(b), nil
	}
	t.buf = append(t.buf, b...)
	if i := bytes.Index(t.buf, trace); i >= 0 {
		t.buf, t.traced = t.buf[:i], true
	}
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.buf))
}
