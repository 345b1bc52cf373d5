package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestAwaitQuiet: it waits for a quiet machine, and not for ever.
func TestAwaitQuiet(t *testing.T) {
	for name, tt := range map[string]struct {
		quietAfter time.Duration
		fails      string
		waits      time.Duration
	}{
		"it is quiet":        {0, "", 0},
		"it becomes quiet":   {40 * time.Second, "", 40 * time.Second},
		"it is busy all day": {24 * time.Hour, "the load of the machine is 3.50", patience},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := awaitQuiet(t.Context(), func() (float64, error) {
					if time.Since(start) < tt.quietAfter {
						return 3.5, nil
					}
					return 0.99, nil
				})
				if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
					t.Errorf("it ends with %v, want %q", err, tt.fails)
				}
				if waited := time.Since(start); waited != tt.waits {
					t.Errorf("it waits for %v, want %v", waited, tt.waits)
				}
			})
		})
	}
	interrupted, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if err := awaitQuiet(interrupted, func() (float64, error) { return 2, nil }); err != stop {
		t.Errorf("interrupted it ends with %v", err)
	}
}

// TestLoadNow: it is about what /proc says.
func TestLoadNow(t *testing.T) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	want, err := strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := loadNow(); err != nil || got < want*0.8-0.1 || got > want*1.2+0.5 {
		t.Errorf("the load is %v, %v; /proc says %v", got, err, want)
	}
}
