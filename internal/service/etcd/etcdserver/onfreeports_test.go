package etcdserver_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
)

// TestOnFreePortsTriesAgain: as if another process had been faster.
func TestOnFreePortsTriesAgain(t *testing.T) {
	dir := t.TempDir()
	var tried [][]etcdserver.Config
	got, err := etcdserver.OnFreePorts(2, etcdserver.Config{Dir: dir, MaxTxnOps: 7}, func(configs []etcdserver.Config) (string, error) {
		tried = append(tried, configs)
		left := filepath.Join(configs[1].Dir, "left")
		if _, err := os.Stat(left); err == nil {
			t.Error("a directory is not empty")
		}
		if err := os.MkdirAll(left, 0o700); err != nil {
			return "", err
		}
		switch len(tried) {
		case 1:
			return "", errors.Join(errors.New("first"), syscall.EADDRINUSE)
		case 2:
			return "", fmt.Errorf("second: %w", etcdserver.ErrOtherPorts)
		}
		return "started", nil
	})
	if err != nil || got != "started" || len(tried) != 3 {
		t.Fatalf("got %q, %v, after %d attempts", got, err, len(tried))
	}
	seen := make(map[string]bool)
	for _, configs := range tried {
		for _, c := range configs {
			seen[c.ClientAddr], seen[c.PeerAddr] = true, true
			if c.MaxTxnOps != 7 {
				t.Errorf("settings are lost: %+v", c)
			}
		}
	}
	if len(seen) < 11 { // of 12, of which two may be the same by chance
		t.Errorf("addresses %v, want others each time", seen)
	}
	other := errors.New("another reason")
	calls := 0
	if _, err := etcdserver.OnFreePorts(1, etcdserver.Config{Dir: dir}, func([]etcdserver.Config) (int, error) { calls++; return 0, other }); err != other || calls != 1 {
		t.Errorf("%v after %d calls, want the error at once", err, calls)
	}
}
