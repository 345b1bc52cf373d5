package redislock

import (
	"testing"
	"testing/synctest"
	"time"
)

type jobFunc func()

func (f jobFunc) run() { f() }

// TestCrew: goroutines make one call after the other, and end when there are none. Under synctest a goroutine that stays fails
// the test.
func TestCrew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrew()
		hands := func(want int) {
			t.Helper()
			synctest.Wait()
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.hands != want {
				t.Errorf("there are %d goroutines, want %d", c.hands, want)
			}
		}
		made := 0
		for range 3 {
			c.do(jobFunc(func() { made++ }))
			hands(1)
		}
		long := make(chan struct{})
		c.do(jobFunc(func() { <-long }))
		c.do(jobFunc(func() { made++ }))
		hands(2)
		time.Sleep(2 * idle)
		hands(1) // whose call goes on
		c.do(jobFunc(func() { made++ }))
		hands(2)
		close(long)
		time.Sleep(2 * idle)
		hands(0)
		c.do(jobFunc(func() { made++ }))
		hands(1)
		time.Sleep(2 * idle)
		if made != 6 {
			t.Errorf("%d calls were made, want 6", made)
		}
	})
}
