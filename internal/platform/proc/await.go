package proc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"syscall"
	"time"
)

// awaitTick is for how long Await waits before it asks again.
const awaitTick = 10 * time.Millisecond

// slowStart is after what time a group's Waits is told of a process that does not serve. It is a
// variable for tests.
var slowStart = 10 * time.Second

// Await returns when the process serves, which ask asks once and says by a nil error. It kills a process that
// does not serve before ctx ends. A process that ends before it serves is an error that says how.
func (p *Process) Await(ctx context.Context, ask func(context.Context) error) error {
	slow := time.After(slowStart)
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			return p.Ended()
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("%s does not serve: %w (%w)", p.Name, err, context.Cause(ctx)), p.Kill())
		case <-slow:
			p.waits(ctx, err)
		case <-time.After(awaitTick):
		}
	}
}

// waits tells what is waited for, and until when.
func (p *Process) waits(ctx context.Context, err error) {
	text := fmt.Sprintf("%s does not serve yet: %v", p.Name, err)
	if end, bounded := ctx.Deadline(); bounded {
		text += fmt.Sprintf("; it has %v more", time.Until(end).Round(time.Second))
	}
	p.told(text)
}

// AwaitEnd returns when a process has ended that is to end by itself. Its error is that of a
// process that failed, or that had to be killed as ctx ended before.
func (p *Process) AwaitEnd(ctx context.Context) error {
	select {
	case <-p.Done():
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("%s has not ended: %w", p.Name, context.Cause(ctx)), p.Kill())
	}
	if p.err != nil {
		return p.Ended()
	}
	return nil
}

// longestLine is how many bytes a line of a process may have: many times what a scenario can make it say.
const longestLine = 1 << 20

// LineError is that a process said a line which is refused.
type LineError struct {
	Process string
	Line    string // how it begins
	Err     error  // why
}

func (e *LineError) Error() string {
	return fmt.Sprintf("%s: %v; it says %q", e.Process, e.Err, e.Line)
}

func (e *LineError) Unwrap() error { return e.Err }

// shownLine is how many bytes of a line a LineError shows.
const shownLine = 80

// ReadLines hands over each line that the process says until its end, and returns how it ended.
// A line is gone when the next one is read. A line that is refused, or too long, ends it as
// well: then the error is a LineError.
func (p *Process) ReadLines(in io.Reader, line func([]byte) error) error {
	br := bufio.NewReaderSize(in, longestLine)
	for {
		b, err := br.ReadSlice('\n')
		switch {
		case err == nil:
			err = line(b)
		case errors.Is(err, bufio.ErrBufferFull):
			err = fmt.Errorf("its line is longer than %d bytes", longestLine)
		}
		switch {
		case errors.Is(err, io.EOF):
			// What it began to say without an end was cut off by its death.
			return p.Ended()
		case err != nil:
			begins := string(b)
			if len(b) > shownLine {
				begins = begins[:shownLine] + "…"
			}
			return &LineError{p.Name, begins, err}
		}
	}
}

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
