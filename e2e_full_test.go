package fencelab_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/internal/kvhttp"
)

// smallDisk is a file system of its own in memory, in a mount namespace that
// needs no root.
type smallDisk struct {
	w      *world
	holder *process // keeps the namespace
	dir    string   // where it is, within the namespace
}

// smallDisk makes one of so many bytes.
func (w *world) smallDisk(bytes int) *smallDisk {
	w.t.Helper()
	for _, name := range []string{"unshare", "nsenter"} {
		if _, err := exec.LookPath(name); err != nil {
			w.t.Fatalf("this test fills a disk of its own, for which it needs %s: apt-get install util-linux", name)
		}
	}
	d := &smallDisk{w: w, dir: w.t.TempDir()}
	d.holder = w.start("/usr/bin/env", "unshare", "-Urm", "sh", "-c", `mount -t tmpfs -o size="$0" none "$1" && echo mounted && exec cat`, itoa(bytes), d.dir)
	for !strings.Contains(d.holder.output(), "mounted\n") {
		select {
		case <-d.holder.wrote:
		case <-d.holder.done:
			w.t.Fatalf("no file system of its own can be mounted here; allow it: sysctl kernel.apparmor_restrict_unprivileged_userns=0, in a container --cap-add SYS_ADMIN; unshare said:\n%s", d.holder.output())
		}
	}
	return d
}

// storage starts a storage that has its file there.
func (d *smallDisk) storage() (*process, string) {
	d.w.t.Helper()
	p := d.w.start("/usr/bin/env", "nsenter", "--preserve-credentials", "-U", "-m", "-t", itoa(d.holder.cmd.Process.Pid),
		filepath.Join(bin, "storage"), "--listen", "127.0.0.1:0", "--engine", "bolt", "--data", d.dir)
	return p, urlPattern.FindStringSubmatch(p.await("storage serves"))[1]
}

// path is a file's name as seen from without.
func (d *smallDisk) path(name string) string {
	return fmt.Sprintf("/proc/%d/root%s", d.holder.cmd.Process.Pid, filepath.Join(d.dir, name))
}

// fill writes a file until nothing more goes in, and returns what makes room
// again.
func (d *smallDisk) fill() (remove func()) {
	d.w.t.Helper()
	f, err := os.Create(d.path("filler"))
	if err != nil {
		d.w.t.Fatal(err)
	}
	defer f.Close()
	for page := make([]byte, os.Getpagesize()); err == nil; {
		_, err = f.Write(page)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.w.t.Fatal(err)
	}
	return func() {
		if err := os.Remove(d.path("filler")); err != nil {
			d.w.t.Fatal(err)
		}
	}
}

// TestBoltFullDisk: on a full disk writes are refused, definitely, and reads go
// on; with room again, so do writes. Values are large, so that the file grows
// and its map with it.
func TestBoltFullDisk(t *testing.T) {
	const writers, padding = 4, 3000
	w := newWorld(t)
	disk := w.smallDisk(4 << 20)
	p, url := disk.storage()
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
		remove := disk.fill()
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
		p, url = disk.storage()
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
	checkFile(t, disk.path(""))
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
