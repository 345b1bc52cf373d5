package interop_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/proc"
)

// deadline is for an answer. Java starts slowly on a machine with much to do.
const deadline = 3 * time.Minute

// side is one of the two of a pair.
type side struct {
	name string // "Java" or "ours"
	kind string // of its lock
	late string // what it says of an unlock after its lease
	// asksAfter is the lease of its waiters when the other's lease ends.
	asksAfter time.Duration
	start     func() (*proc.Process, error)

	running *proc.Process // nil: it was killed, or never started
}

// pair is two processes whose locks are to be one lock.
type pair struct {
	*testing.T
	pairing
	queue   func(t *testing.T, kind, lock string, n int) // returns when n wait; nil: nobody can tell
	answers chan string                                  // "SIDE THREAD WORD", of both
}

// process is that of a side. It is started where there is none.
func (p *pair) process(s *side) *proc.Process {
	p.Helper()
	if s.running != nil {
		return s.running
	}
	started, err := s.start()
	if err != nil {
		p.Fatal(err)
	}
	s.running = started
	go func() {
		// It ends when the process is killed, at the latest with the test.
		_ = started.ReadLines(started.Stdout, func(line []byte) error {
			p.answers <- s.name + " " + strings.TrimSpace(string(line))
			return nil
		})
	}()
	p.await(deadline, s.name+" - ready")
	return started
}

// kill kills the process of a side.
func (p *pair) kill(s *side) {
	p.Helper()
	if err := p.process(s).Kill(); err != nil {
		p.Fatal(err)
	}
	s.running = nil
}

// await waits until both sides have given these answers, in any order, and no other.
func (p *pair) await(within time.Duration, answers ...string) {
	p.Helper()
	left := slices.Clone(answers)
	for over := time.After(within); len(left) > 0; {
		select {
		case got := <-p.answers:
			i := slices.Index(left, got)
			if i < 0 {
				p.Fatalf("the answer is %q, want %q", got, left)
			}
			left = slices.Delete(left, i, i+1)
		case <-over:
			p.Fatalf("no answer in %v, want %q", within, left)
		}
	}
}

// user is a thread of a side that uses a lock.
type user struct {
	*pair
	side   *side
	thread string
	kind   string
	lease  time.Duration
	lock   string
}

// user is one of a side's.
func (p *pair) user(s *side, lock string) user {
	return user{pair: p, side: s, thread: "1", kind: s.kind, lease: long, lock: lock}
}

// send has it do something, and does not wait for the answer.
func (u user) send(verb ...string) {
	u.Helper()
	line := fmt.Sprintf("%s %s %d %s %s\n", u.thread, u.kind, u.lease.Milliseconds(), u.lock, strings.Join(verb, " "))
	if _, err := u.process(u.side).Stdin.Write([]byte(line)); err != nil {
		u.Fatal(err)
	}
}

// says is its answer of a word.
func (u user) says(word string) string { return u.side.name + " " + u.thread + " " + word }

// do has it do something, and waits for the answer.
func (u user) do(verb, answer string) {
	u.Helper()
	u.send(verb)
	u.await(deadline, u.says(answer))
}

// another is the same but for its thread.
func (u user) another() user {
	u.thread += "'"
	return u
}

// as is the same but for the kind of the lock.
func (u user) as(kind string) user {
	u.kind = kind
	return u
}

// leasing is the same but for the lease.
func (u user) leasing(lease time.Duration) user {
	u.lease = lease
	return u
}

// waits returns when n wait for the lock, where its server can tell.
func (u user) waits(n int) {
	u.Helper()
	if u.queue != nil {
		u.queue(u.T, u.kind, u.lock, n)
	}
}
