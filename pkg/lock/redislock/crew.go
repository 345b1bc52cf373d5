package redislock

import (
	"runtime"
	"sync"
	"time"
)

// crew is the goroutines that make the calls of a backend. One that has made its call takes the next one, as its stack is large
// enough by then: a stack that grows during a call of go-redis is copied with all frames that it has, which takes a quarter
// of the processor time of a lock.
type crew struct {
	calls chan job

	mu    sync.Mutex
	hands int // how many goroutines there are
}

// job is a call to make.
type job interface{ run() }

func newCrew() *crew { return &crew{calls: make(chan job)} }

// idle is how long a goroutine without a call stays at least. None stays for twice as long.
const idle = 100 * time.Millisecond

// do has a goroutine make a call.
func (c *crew) do(j job) {
	select {
	case c.calls <- j:
	default:
		c.hire()
		go c.work(j)
	}
}

func (c *crew) hire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hands++; c.hands == 1 {
		time.AfterFunc(idle, c.dismiss)
	}
}

func (c *crew) work(j job) {
	for ; j != nil; j = <-c.calls {
		deepen()
		j.run()
	}
}

// dismiss ends the goroutines that have no call, and comes again while there are others.
func (c *crew) dismiss() {
	ended := 0
	for waits := true; waits; {
		select {
		case c.calls <- nil:
			ended++
		default:
			waits = false
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hands -= ended; c.hands > 0 {
		time.AfterFunc(idle, c.dismiss)
	}
}

// deepen has the runtime give a goroutine the stack that a call of go-redis needs, at once. The garbage collector takes back
// what is not used of a stack.
//
//go:noinline
func deepen() {
	var room [5 << 10]byte
	runtime.KeepAlive(&room)
}
