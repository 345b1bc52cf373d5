package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	busy     = 1.0 // the load from which on other work decides the figures
	patience = 5 * time.Minute
)

// awaitQuiet waits until the machine has a load below busy, for as long as its patience.
func awaitQuiet(ctx context.Context, load func() (float64, error)) error {
	for end := time.Now().Add(patience); ; {
		now, err := load()
		switch {
		case err != nil:
			return fmt.Errorf("the load of the machine: %w", err)
		case now < busy:
			return nil
		case !time.Now().Before(end):
			return fmt.Errorf("the load of the machine is %.2f, and was %.0f or more for %v: the figures would be those of other work; end it, and measure again", now, busy, patience)
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// loadNow is the kernel's average over a minute of how many processes run or want to.
func loadNow() (float64, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, err
	}
	const one = 1 << 16 // sysinfo(2): the loads are scaled by it
	return float64(info.Loads[0]) / one, nil
}
