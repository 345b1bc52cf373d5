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

// TestBusyMachineWritesNoDocument: what was measured beside other work is shown at the most, and a
// document is refused before anything is measured.
func TestBusyMachineWritesNoDocument(t *testing.T) {
	const tooBusy, begins = "the load of the machine is 3.50", `there is no part "none"`
	for _, tt := range []struct {
		args        string
		load        float64
		fails, says string
	}{
		{"--only none -o doc.md", 3.5, tooBusy, ""},
		{"--only none", 3.5, begins, tooBusy},
		{"--only none -o doc.md", 0.5, begins, ""},
		{"--only none --short", 3.5, begins, ""},
		{"--only none --short -o doc.md", 0.5, "[out short] were all set", ""},
	} {
		t.Run(tt.args, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cmd := command(func() (float64, error) { return tt.load, nil })
				cmd.SilenceErrors, cmd.SilenceUsage = true, true
				cmd.SetArgs(strings.Fields(tt.args))
				var says strings.Builder
				cmd.SetErr(&says)
				err := cmd.ExecuteContext(t.Context())
				if err == nil || !strings.Contains(err.Error(), tt.fails) || !strings.Contains(says.String(), tt.says) || tt.says == "" && says.String() != "" {
					t.Errorf("with a load of %v it ends with %v, and says %q; want %q, and %q", tt.load, err, says.String(), tt.fails, tt.says)
				}
			})
		})
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
