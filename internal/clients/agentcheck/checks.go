package agentcheck

import (
	"syscall"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// TTLs of the client's lease: one that is not to run out in a check, and one that is.
const (
	long  = 60 * time.Second
	short = time.Second
)

// checks are all, in their order. The first one is about what all others need.
var checks = []check{
	{name: "SaysReady", doc: `its first event is a note with the key "protocol" and the version "1"`, ttl: long, run: func(t *trial) { t.start(0) }},
	{name: "UnknownIsAnError", doc: "a command that it does not know is answered by one event of kind error, and it goes on", ttl: long, run: unknownIsAnError},
	{name: "LinesAreTrimmed", doc: "empty lines are skipped, and a carriage return at the end of a line is dropped", ttl: long, run: linesAreTrimmed},
	{name: "InvokeComesFirst", doc: "it writes invoke before it asks, and the outcome when it has the answer", ttl: long, run: invokeComesFirst},
	{name: "TenureIsTheServices", doc: "tenure and token are the same as in the lock service's own account", ttl: long, run: tenureIsTheServices},
	{name: "HeldIsHeld", doc: "a lock that it holds is not taken twice: reason held, or the same tenure", ttl: long, run: heldIsHeld},
	{name: "RequestIsSent", doc: "the request of an invoke goes to the storage as X-Request-Id, with scope, token, key and value", ttl: long, run: requestIsSent},
	{name: "RequestsAreUnique", doc: "no request comes twice, also in a process that takes the place of a killed one", ttl: long, run: requestsAreUnique},
	{name: "ValuesAreWhole", doc: "a value is written and read as it is, and a read says what is missing", ttl: long, run: valuesAreWhole},
	{name: "BeginStands", doc: "after begin write it stands: nothing goes to the storage before finish", ttl: long, run: beginStands},
	{name: "LateWriteIsSent", doc: "stopped before a write until its lease ran out, it writes with its old token, and says what the storage answered", ttl: short, run: lateWriteIsSent},
	{name: "LossIsTold", doc: "when its lease is over it says lost, with the tenure; if it stands, after the outcome of what it had begun", ttl: short, run: lossIsTold},
	{name: "UnlockFrees", doc: "unlock ends the tenure, and later writes show no token", ttl: long, run: unlockFrees},
	{name: "WaitEnds", doc: "lock within a time fails after that time, and leaves the queue", ttl: long, run: waitEnds},
	{name: "TryTakesIfFree", doc: "trylock takes a lock that is free, and does not wait for one that is not", ttl: long, optional: true, run: tryTakesIfFree},
	{name: "QueueWaits", doc: "queue asks for the lock, and wait waits for it, for so long at most", ttl: long, optional: true, run: queueWaits},
	{name: "DeleteIsSent", doc: "delete goes to the storage with scope and token, and the key is gone", ttl: long, optional: true, run: deleteIsSent},
	{name: "ChangeIsSent", doc: "change writes all its keys, with scope and token", ttl: long, optional: true, run: changeIsSent},
	{name: "SendIsInBackground", doc: "what it sends has its invoke at once, and its outcome when the answer comes; other commands are obeyed meanwhile", ttl: long, optional: true, run: sendIsInBackground},
	{name: "RetryAsksAgain", doc: "retry makes the request of unknown outcome once more, with an ID of its own, and names the first one", ttl: long, timeout: short, optional: true, run: retryAsksAgain},
	{name: "CountAdds", doc: "count adds 1 so many times, each under a lock of its own", ttl: long, optional: true, run: countAdds},
	{name: "EndReleases", doc: "at the end of its input it releases its lock, and ends with status 0", ttl: long, run: func(t *trial) {
		t.ends(func(c *client) error { return c.process.Stdin.Close() })
	}},
	{name: "TermReleases", doc: "at SIGTERM it does the same", ttl: long, run: func(t *trial) {
		t.ends(func(c *client) error { return c.process.Signal(syscall.SIGTERM) })
	}},
}

func unknownIsAnError(t *trial) {
	c := t.start(0)
	const unknown = "fly to the moon"
	c.tell(unknown)
	if e := c.next(unknown); e.Kind != history.KindError || e.Text == "" {
		failf("it answers %q by an event of kind %q and the text %q, want the kind error with a text that says what is wrong", unknown, e.Kind, e.Text)
	}
	c.ok("lock")
}

func linesAreTrimmed(t *trial) {
	c := t.start(0)
	c.tell("\r\n")
	if a := c.ok("lock\r"); a.outcome.Scope != t.lock {
		failf("it takes the lock %q, want %q", a.outcome.Scope, t.lock)
	}
}
