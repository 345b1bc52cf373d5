package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// diskArg makes the test's program the holder of a file system.
const diskArg = "hold-disk"

// holdDisk mounts a file system in memory, with so many bytes, until standard input
// ends.
func holdDisk(bytes, dir string) {
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size="+bytes); err != nil {
		fmt.Println("mount:", err)
		os.Exit(1)
	}
	fmt.Println("mounted")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// smallDisk makes a file system of so many bytes, in a mount namespace of its own,
// for which nobody has to be root. The directory is as seen from without.
func (w *world) smallDisk(bytes int) (dir string) {
	w.t.Helper()
	dir = w.t.TempDir()
	holder := w.prepare(os.Args[0], diskArg, itoa(bytes), dir)
	holder.cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	missing := func(why any) {
		w.t.Helper()
		w.t.Log(why)
		need.MissingUserNamespaces(w.t, "to fill a file system of its own")
	}
	if err := holder.start(); err != nil {
		missing(err)
	}
	for !strings.Contains(holder.output(), "mounted\n") {
		select {
		case <-holder.wrote:
		case <-holder.done:
			missing(holder.output())
		}
	}
	return fmt.Sprintf("/proc/%d/root%s", holder.cmd.Process.Pid, dir)
}

// fill writes a file until nothing more goes in, and returns what makes room
// again.
func fill(t *testing.T, dir string) (remove func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for page := make([]byte, os.Getpagesize()); err == nil; {
		_, err = f.Write(page)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBoltFullDisk: on a full disk writes are refused, definitely, and reads go
// on; with room again, so do writes. Values are large, so that the file grows
// and its map with it.
func TestBoltFullDisk(t *testing.T) {
	t.Parallel()
	const writers, padding = 4, 3000
	w := newWorld(t)
	disk := w.smallDisk(4 << 20)
	p, url := w.storage("--engine", "bolt", "--data", disk)
	var ledgers [writers]*ledger
	for i := range ledgers {
		ledgers[i] = &ledger{t: t, key: fmt.Sprint("key", i)}
		ledgers[i].must(url)
	}
	big := int64(0) // large values, each at a new key, that were acknowledged
	grow := func() (int, string) {
		status, problem := put(t, url, fmt.Sprint("big", big), 1, strings.Repeat("x", padding))
		if status == http.StatusNoContent {
			big++
		}
		return status, problem.Type + " " + problem.Detail
	}
	for range rounds(3, 20) {
		for range 20 {
			if status, says := grow(); status != http.StatusNoContent {
				t.Fatal(status, says)
			}
		}
		remove := fill(t, disk)
		// What is free within the file may be used up first.
		status, says := grow()
		for i := 0; status == http.StatusNoContent && i < 100; i++ {
			status, says = grow()
		}
		for _, text := range []string{typeDisk + " ", "nothing was written", "no space left on device", "the disk is full: make room"} {
			if status != http.StatusInsufficientStorage || !strings.Contains(says, text) {
				t.Errorf("on a full disk: %d %s\nwant 507 and %q", status, says, text)
			}
		}
		if status, text := ready(t, url); status != http.StatusServiceUnavailable || !strings.Contains(text, "engine: waits for the disk") {
			t.Errorf("/readyz on a full disk: %d %s", status, text)
		}
		for range 10 {
			for _, l := range ledgers {
				l.write(url) // some find room in free pages
				l.check(url)
			}
		}
		remove()
		if status, text := ready(t, url); status != http.StatusOK {
			t.Errorf("/readyz with room again: %d %s", status, text)
		}
		for _, l := range ledgers {
			l.must(url)
			l.check(url)
		}
		if status, says := grow(); status != http.StatusNoContent {
			t.Fatal(status, says)
		}
		p.signal(syscall.SIGKILL)
		p.want(-1)
		p, url = w.storage("--engine", "bolt", "--data", disk)
		for _, l := range ledgers {
			l.check(url)
		}
		client := kvhttp.NewClient(url, kvhttp.ClientOptions{})
		for i := range big {
			item, err := client.Read(t.Context(), kv.Request{}, fmt.Sprint("big", i))
			if err != nil || len(item.Value) != padding {
				t.Fatalf("big%d of %d: %d bytes, %v", i, big, len(item.Value), err)
			}
		}
		client.Close()
	}
	p.signal(syscall.SIGTERM)
	p.want(0)
	checkFile(t, disk)
}

// ready is the answer of /readyz.
func ready(t *testing.T, url string) (status int, text string) {
	t.Helper()
	resp, err := http.Get(url + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, bodyOf(t, resp)
}

// TestBoltNewOnFullDisk: where a new file has no room nothing is left of it that is refused
// later, however little room is missing.
func TestBoltNewOnFullDisk(t *testing.T) {
	t.Parallel()
	disk := newWorld(t).smallDisk(1 << 20)
	remove := fill(t, disk)
	defer remove()
	filler := filepath.Join(disk, "filler")
	refused := 0
	for opened := false; !opened; {
		e, err := kv.OpenBolt(disk, kv.Options{})
		if opened = err == nil; opened {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
			break
		}
		refused++
		if !strings.Contains(err.Error(), "the disk is full: make room") {
			t.Error(err)
		}
		if left, err := os.ReadDir(disk); err != nil || len(left) != 1 {
			t.Fatalf("%v is left: %v", left, err)
		}
		info, err := os.Stat(filler)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filler, info.Size()-int64(os.Getpagesize())); err != nil {
			t.Fatal(err)
		}
	}
	if refused < 2 {
		t.Errorf("%d pages of room were too few, want more: the disk was not full", refused)
	}
}
