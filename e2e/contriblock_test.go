package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// originalsEnv tells a test in a network of its own where contrib/lock's programs are.
const originalsEnv = "FENCELAB_E2E_ORIGINALS"

const addressStorage = "127.0.0.1:8080" // which contrib/lock's programs know alone

// TestContribLockOriginals follows contrib/lock's README, with its own client and
// storage, with ours, and with one of each. All commands stand as there, and what a
// client says is the same word for word; but for what the storages say of a version.
func TestContribLockOriginals(t *testing.T) {
	t.Parallel()
	originals := os.Getenv(originalsEnv)
	if originals == "" {
		inOwnNetwork(t, originalsEnv+"="+buildOriginals(t))
		return
	}
	bringLoopbackUp(t)
	w := newWorld(t)
	etcd := w.start("gcsim", "etcd")
	etcd.await("etcd serves")
	t.Cleanup(func() {
		etcd.signal(syscall.SIGTERM)
		etcd.want(0)
	})
	for _, dir := range []string{originals, bin} {
		client := filepath.Join(dir, "client")
		for _, tt := range []struct {
			args []string
			says []string
		}{
			{nil, []string{"usage: " + client + " <1 or 2>"}},
			{[]string{"1", "2"}, []string{"usage: " + client + " <1 or 2>"}},
			{[]string{"x"}, []string{"mode should be 1 or 2 (given value is x)"}},
			{[]string{"2"}, []string{"this is client 2, continuing", "failed to send a request to storage: Post"}}, // it has the lock, and there is no storage
		} {
			p := w.start(client, tt.args...)
			p.want(1)
			p.says(tt.says...)
		}
	}
	for name, pair := range map[string]struct{ client, storage, refusal string }{
		"their client, their storage": {originals, originals, "different from"},
		"their client, our storage":   {originals, bin, "older than"},
		"our client, their storage":   {bin, originals, "different from"},
		"our client, our storage":     {bin, bin, "older than"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			storage := w.start(filepath.Join(pair.storage, "storage"))
			awaitListener(t, storage, addressStorage)
			one := w.start(filepath.Join(pair.client, "client"), "1")
			prompt := one.await("please manually revoke the lease")
			lease, err := strconv.ParseInt(regexp.MustCompile(`revoke ([0-9a-f]+)'`).FindStringSubmatch(prompt)[1], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			if got := post(t, "http://127.0.0.1:2379/v3/lease/revoke", fmt.Sprintf(`{"ID": %d}`, lease)); !strings.Contains(got, "revision") {
				t.Fatalf("the lease is not revoked: %s", got)
			}
			two := w.start(filepath.Join(pair.client, "client"), "2")
			two.want(0)
			one.stdin.Write([]byte("\n"))
			one.want(0)
			wantWords(t, one, "client 1 starts", "created etcd client and session", "acquired lock, version: HEX",
				"please manually revoke the lease using 'etcdctl lease revoke HEX' or wait for it to expire, then start executing client 2 and hit any key...",
				"resuming client 1",
				"expected fail to write to storage with old lease version: error: given version (HEX) is "+pair.refusal+" the existing version (HEX)")
			wantWords(t, two, "client 2 starts", "created etcd client and session", "acquired lock, version: HEX",
				"this is client 2, continuing", "successfully write a key to storage using lease HEX")
			if got := post(t, "http://"+addressStorage, `{"op":"read","key":"key0"}`); !strings.Contains(got, `"val":"value from client 2"`) {
				t.Errorf("the storage holds %s", got)
			}
			storage.signal(syscall.SIGTERM)
			storage.end()
		})
	}
}

// buildOriginals builds contrib/lock's programs, and returns where they are.
func buildOriginals(t *testing.T) (dir string) {
	t.Helper()
	need.Time(t, "to compile contrib/lock's programs")
	if out, err := inOriginals("mod", "download").CombinedOutput(); err != nil {
		t.Logf("%v\n%s", err, out)
		need.Missing(t, "modules of contrib/lock", "to run it beside ours", "GOWORK=off go -C internal/tools/originals mod download")
	}
	dir = t.TempDir()
	if out, err := inOriginals("build", "-buildvcs=false", "-o", dir+"/", "tool").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

const originalsModule = "../internal/tools/originals" // which go.work leaves out

func inOriginals(args ...string) *exec.Cmd {
	cmd := exec.Command("go", append([]string{"-C", originalsModule}, args...)...)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	return cmd
}

// inOwnNetwork runs the test once more, in a process whose network is its own, so
// that all ports are free there. Nobody has to be root for it.
func inOwnNetwork(t *testing.T, env ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(append(os.Environ(), env...), binEnv+"="+bin)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if cmd.Process == nil {
		t.Log(err)
		missingNetwork(t)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func missingNetwork(t *testing.T) {
	t.Helper()
	need.MissingUserNamespaces(t, "to have a network with all ports free")
}

// bringLoopbackUp makes 127.0.0.1 work in a new network.
func bringLoopbackUp(t *testing.T) {
	t.Helper()
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(socket)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		t.Fatal(err)
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo); err != nil {
		t.Log("lo:", err)
		missingNetwork(t)
	}
}

// awaitListener waits until the process takes connections. contrib/lock's storage
// does not say when.
func awaitListener(t *testing.T, p *process, addr string) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
			return
		}
		select {
		case <-tick.C:
		case <-p.done:
			t.Fatalf("%v ended; it said:\n%s", p.cmd.Args, p.output())
		case <-deadline:
			t.Fatal(err)
		}
	}
}

// wantWords checks all lines that a client has said: after date and time, and with
// HEX for what differs from run to run.
func wantWords(t *testing.T, p *process, want ...string) {
	t.Helper()
	said := regexp.MustCompile(`(?m)^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d `).ReplaceAllString(p.output(), "")
	said = regexp.MustCompile(`(version: |revoke |lease |version \()[0-9a-f]+\b`).ReplaceAllString(said, "${1}HEX")
	if said != strings.Join(want, "\n")+"\n" {
		t.Errorf("%v says\n%swant\n%s", p.cmd.Args, said, strings.Join(want, "\n"))
	}
}
