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
	{syscall.EAGAIN.Error(), MoreProcesses},
	{"failed to create new OS thread", MoreProcesses}, // Go
	{syscall.ENOMEM.Error(), moreMemory},
	{"failed to reserve page summary memory", moreMemory}, // Go
}

// MoreProcesses is what to do where a user may have too few processes.
const MoreProcesses = `allow more processes: "ulimit -u 4096"`

const (
	moreFiles  = `allow more open files: "ulimit -n 1024"`
	moreMemory = `allow more memory, most of which is only reserved: "ulimit -v unlimited"`
	moreRoom   = "make room, or set TMPDIR to a directory that has some"
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

// tail keeps the end of what is written to it, up to the trace of a program in Go
// that cannot go on: what went wrong is said before that.
type tail struct {
	mu     sync.Mutex
	buf    []byte
	traced bool
}

const tailSize = 4 << 10 // bytes

// traces begin a trace, after an empty line.
var traces = [][]byte{[]byte("\n\ngoroutine "), []byte("\n\nruntime stack:")}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.traced {
		return len(b), nil
	}
	t.buf = append(t.buf, b...)
	for _, trace := range traces {
		if i := bytes.Index(t.buf, trace); i >= 0 {
			t.buf, t.traced = t.buf[:i], true
		}
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
