package interop_test

import (
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// Leases. long is one that is to end in no test, brief one that is to end.
const (
	long  = time.Minute
	brief = 3 * time.Second

	// soon is far below long: a lock that is free by then was not waited for by its lease.
	soon = long / 6
	// ended is when a brief lease is sure to be over, and a waiter to have noticed it.
	ended = long / 3
)

// wakes is how often a waiter is woken in a check: now and then it is told of an unlock before it
// has begun to wait. A few times it may miss the message, and have the lock when the lease is over.
const wakes, missed = 10, 2

// rounds is how often both sides count in a check. In each round the lock goes from one side to
// the other, at least once.
const rounds = 100

// property is one of two locks that are one lock. It is checked with each side as a.
type property struct {
	name, about string
	check       func(a, b user)
	of          func(pairing) bool // whether a pairing has it; nil: each has
	slow        bool               // its check waits for leases
}

// applies reports whether it is checked of a pairing on a server.
func (p property) applies(one pairing, server string) bool {
	return (p.of == nil || p.of(one)) && !(p.slow && server == embedded)
}

var properties = []property{
	{name: "exclusion", check: exclude, of: excludes,
		about: "While one side holds the lock, the other is refused it; afterwards it is granted."},
	{name: "wake-up", check: wakeUp, of: excludes,
		about: "A waiter has the lock within ten seconds of the other side's unlock, with a lease of a minute, in eight of ten attempts or more."},
	{name: "re-entry", check: reenter, of: func(one pairing) bool { return excludes(one) && !one.once },
		about: "One side takes the lock twice. After one unlock it still excludes the other, after the second it does not."},
	{name: "sharing", check: share, of: func(one pairing) bool { return !excludes(one) },
		about: "Readers of both sides hold the lock together. As long as one does, writers of both are refused."},
	{name: "queue", check: queue, of: func(one pairing) bool { return one.queued },
		about: "Two waiters of each side, in turn, have the lock in the order in which they came."},
	{name: "tokens", check: tokens, of: func(one pairing) bool { return one.tokens },
		about: "The tokens of both sides come from one counter: each grant has the next."},
	{name: "hand-overs", check: handOver, of: excludes,
		about: "Both sides ask at the same time, and add 1 to a number in a file, until the lock has gone from one side to the other 200 times or more. No addition is lost."},
	{name: "renewal", check: renew, of: excludes, slow: true,
		about: "One side holds and renews the lock for longer than two leases. The other waits in vain."},
	{name: "late unlock", check: unlockLate, of: excludes, slow: true,
		about: "One side is stopped (SIGSTOP) until the other has the lock, and then unlocks. The other's lock is untouched."},
	{name: "crash", check: crash, of: excludes, slow: true,
		about: "One side is killed (SIGKILL) while it holds the lock and the other waits. The other has the lock when the lease is over."},
}

// excludes is of all but two readers.
func excludes(one pairing) bool { return one.java != "read" || one.ours != "read" }

func exclude(a, b user) {
	a.do("lock", "locked")
	b.do("try", "refused")
	a.do("unlock", "unlocked")
	b.do("try", "locked")
	a.do("try", "refused")
	b.do("unlock", "unlocked")
}

func wakeUp(a, b user) {
	late := 0
	for range wakes {
		a.do("lock", "locked")
		b.send("lock")
		b.waits(1)
		unlocked := time.Now()
		a.send("unlock")
		b.await(deadline, a.says("unlocked"), b.says("locked"))
		if time.Since(unlocked) > soon {
			late++
		}
		if late > missed {
			a.Fatalf("%d of %d waiters had the lock later than %v after the unlock", late, wakes, soon)
		}
		b.do("unlock", "unlocked")
	}
}

func reenter(a, b user) {
	a.do("lock", "locked")
	a.do("lock", "locked")
	b.do("try", "refused")
	a.do("unlock", "unlocked")
	b.do("try", "refused")
	a.do("unlock", "unlocked")
	b.do("try", "locked")
	b.do("unlock", "unlocked")
}

func share(a, b user) {
	writers := []user{a.another().as("write"), b.another().as("write")}
	refused := func() {
		for _, w := range writers {
			w.do("try", "refused")
		}
	}
	a.do("lock", "locked")
	b.do("try", "locked")
	refused()
	a.do("unlock", "unlocked")
	refused()
	b.do("unlock", "unlocked")
	for _, w := range writers {
		w.do("try", "locked")
		a.do("try", "refused")
		b.do("try", "refused")
		w.do("unlock", "unlocked")
	}
}

func queue(a, b user) {
	before := a
	a.do("lock", "locked")
	waiters := []user{b, a.another(), b.another()}
	for i, w := range waiters {
		w.send("lock")
		w.waits(i + 1)
	}
	for _, w := range waiters {
		before.send("unlock")
		w.await(soon, before.says("unlocked"), w.says("locked"))
		before = w
	}
	before.do("unlock", "unlocked")
}

func tokens(a, b user) {
	for token, u := range []user{a, b, b, a} {
		u.do("lock", "locked")
		u.do("token", strconv.Itoa(token+1))
		u.do("unlock", "unlocked")
	}
}

func handOver(a, b user) {
	file := filepath.Join(a.TempDir(), "number")
	if err := os.WriteFile(file, []byte("0"), 0o666); err != nil {
		a.Fatal(err)
	}
	for range rounds {
		a.send("count", file)
		b.send("count", file)
		a.await(deadline, a.says("counted"), b.says("counted"))
	}
	if n, err := os.ReadFile(file); err != nil || string(n) != strconv.Itoa(2*rounds) {
		a.Errorf("%d additions made %s, %v", 2*rounds, n, err)
	}
}

// renew has a renew its lease each third of it, where nothing else does so.
func renew(a, b user) {
	a = a.leasing(brief)
	times, wait := 1, 8*brief/3
	if a.byHand {
		times, wait = 8, brief/3
	}
	a.do("lock", "locked")
	for range times {
		b.send("within", strconv.FormatInt(wait.Milliseconds(), 10))
		b.await(deadline, b.says("refused"))
		if a.byHand {
			a.do("renew", "renewed")
		}
	}
	a.do("unlock", "unlocked")
	b.do("try", "locked")
	b.do("unlock", "unlocked")
}

// awaited has a hold the lock by a lease that ends soon, and b wait for it.
func awaited(a, b user) (holder, waiter user) {
	a, b = a.leasing(brief), b.leasing(b.side.asksAfter)
	b.do("try", "locked") // Java's first attempt takes its time
	b.do("unlock", "unlocked")
	a.do("lock", "locked")
	b.send("lock")
	b.waits(1)
	return a, b
}

func unlockLate(a, b user) {
	a, b = awaited(a, b)
	if err := a.process(a.side).Pause(); err != nil {
		a.Fatal(err)
	}
	b.await(ended, b.says("locked"))
	if err := a.process(a.side).Resume(); err != nil {
		a.Fatal(err)
	}
	a.do("unlock", a.side.late)
	a.do("try", "refused")
	b.do("unlock", "unlocked")
	a.do("try", "locked")
	a.do("unlock", "unlocked")
}

func crash(a, b user) {
	a, b = awaited(a, b)
	a.kill(a.side)
	b.await(ended, b.says("locked"))
	b.do("unlock", "unlocked")
}
