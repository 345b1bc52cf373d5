package etcdcmd_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdcmd"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// The test binary is the command, and its janitor.
func TestMain(m *testing.M) { proctest.Main(m, etcdcmd.Command()) }

// start runs a command line that serves etcd, and kills it at the end with all
// that it has started.
func start(t *testing.T, name string, args ...string) *clientv3.Client {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	endpoint, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("%v; it said:\n%s", err, stderr.String())
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{strings.TrimSpace(endpoint)}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func TestMaxTxnOps(t *testing.T) {
	client := start(t, os.Args[0], etcdcmd.Args(etcdserver.Config{ClientAddr: "127.0.0.1:0", MaxTxnOps: 3})...)
	var puts []clientv3.Op
	for i := range 4 {
		puts = append(puts, clientv3.OpPut(fmt.Sprint(i), ""))
	}
	if _, err := client.Txn(t.Context()).Then(puts[:3]...).Commit(); err != nil {
		t.Errorf("3 operations: %v", err)
	}
	if _, err := client.Txn(t.Context()).Then(puts...).Commit(); !errors.Is(err, rpctypes.ErrTooManyOps) {
		t.Errorf("4 operations: %v, want too many", err)
	}
}

// TestFsync: with it each answered write was synced before, without it none is.
func TestFsync(t *testing.T) {
	strace := need.Strace(t, "to see syncs")
	const writes = 10
	for _, fsync := range []bool{false, true} {
		t.Run(fmt.Sprint(fsync), func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "trace")
			// A file per thread is written line by line; -ff is its option.
			client := start(t, strace, append([]string{"-ff", "-qq", "-e", "trace=fsync,fdatasync", "-e", "signal=none", "-o", trace, os.Args[0]},
				etcdcmd.Args(etcdserver.Config{ClientAddr: "127.0.0.1:0", Dir: t.TempDir(), Fsync: fsync})...)...)
			before := syncs(t, trace)
			for range writes {
				if _, err := client.Put(t.Context(), "k", "v"); err != nil {
					t.Fatal(err)
				}
			}
			switch n := syncs(t, trace) - before; {
			case fsync && n < writes:
				t.Errorf("%d syncs for %d writes, want one each or more", n, writes)
			case !fsync && n > 0:
				t.Errorf("%d syncs, want none", n)
			}
		})
	}
}

func syncs(t *testing.T, trace string) int {
	t.Helper()
	files, err := filepath.Glob(trace + ".*")
	if err != nil || len(files) == 0 {
		t.Fatalf("strace wrote nothing: %v", err)
	}
	n := 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		n += strings.Count(string(b), "sync(")
	}
	return n
}

func TestClusterFlagsBelongTogether(t *testing.T) {
	cmd := etcdcmd.Command()
	cmd.SetArgs([]string{"--listen", "127.0.0.1:0", "--initial-cluster", "a=http://127.0.0.1:1"})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "peer") {
		t.Errorf("got %v, want an error that names the flags that are missing", err)
	}
}

// TestNothingIsLeft: a directory of its own goes with etcd, however that ends.
func TestNothingIsLeft(t *testing.T) {
	for _, end := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		t.Run(end.String(), func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0], etcdcmd.Args(etcdserver.Config{ClientAddr: "127.0.0.1:0"})...)
			cmd.Env = append(os.Environ(), "TMPDIR="+dir)
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Errorf("it did not start: %v", err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("while it runs there are %v (%v), want its directory", left, err)
			}
			_ = cmd.Process.Signal(end)
			_ = cmd.Wait()
			awaitEmpty(t, dir)
		})
	}
}

// awaitEmpty waits until a directory is empty. The janitor is nobody's here to
// wait for, so it looks again and again.
func awaitEmpty(t *testing.T, dir string) {
	t.Helper()
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		left, err := os.ReadDir(dir)
		if err == nil && len(left) == 0 {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("long after its end %v is left (%v)", left, err)
		case <-tick.C:
		}
	}
}

// TestTakenAddress: the error names the flag by which to choose another.
func TestTakenAddress(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	taken, free := ln.Addr().String(), "127.0.0.1:0"
	for flag, args := range map[string][]string{
		"--listen": {"--listen", taken},
		"--peer":   {"--listen", free, "--peer", taken, "--name", "a", "--initial-cluster", "a=http://" + taken},
	} {
		cmd := etcdcmd.Command()
		cmd.SetArgs(append(args, "--dir", t.TempDir()))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "choose another address with "+flag) {
			t.Errorf("got %v, want an error that names %s", err, flag)
		}
	}
}
