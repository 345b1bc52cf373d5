package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence"
)

// rounds is how often a test does its part: more in its long form.
func rounds(short, long int) int {
	if need.Long() {
		return long
	}
	return short
}

const boltDB = "fencelab.db"

func isSync(name string) bool { return name == "fdatasync" || name == "fsync" }

// What a write needs before it may be answered, in this order.
const (
	nothing = iota
	pagesWritten
	pagesSyncing
	pagesSynced
	metaWritten
	metaSyncing
	durable
)

// putRequest is the beginning of a request; its first byte may have been read
// before, while the one before it was served.
var putRequest = regexp.MustCompile(`"P?UT /v1/kv/(\S+) HTTP`)

func marker(key string) string { return "value-of-" + key + "." }

// unsynced are the keys whose writes were answered before they were durable by
// the account of the system calls, and how many were answered.
func unsynced(events []syscallEvent) (early []string, answered int) {
	asked := map[string]string{} // key, by connection
	stages := map[string]int{}   // by key, of those not yet answered
	advance := func(from, to int) {
		for key, stage := range stages {
			if stage == from {
				stages[key] = to
			}
		}
	}
	for _, e := range events {
		switch {
		case e.name == "read" && e.end:
			if m := putRequest.FindStringSubmatch(e.args); m != nil {
				asked[e.fd()] = m[1]
				stages[m[1]] = nothing
			}
		case e.name == "pwrite64" && e.end && e.file(boltDB) && !strings.HasPrefix(e.ret, "-1"):
			if isMeta(e) {
				advance(pagesSynced, metaWritten)
				continue
			}
			for key, stage := range stages {
				if stage == nothing && strings.Contains(e.args, marker(key)) {
					stages[key] = pagesWritten
				}
			}
		case isSync(e.name) && e.file(boltDB) && !e.end:
			advance(pagesWritten, pagesSyncing)
			advance(metaWritten, metaSyncing)
		case isSync(e.name) && e.file(boltDB) && strings.HasPrefix(e.ret, "0"):
			advance(pagesSyncing, pagesSynced)
			advance(metaSyncing, durable)
		case isSync(e.name) && e.file(boltDB):
			advance(pagesSyncing, nothing)
			advance(metaSyncing, nothing)
		case e.name == "write" && !e.end && strings.Contains(e.args, `"HTTP/1.1 204`):
			key := asked[e.fd()]
			if stages[key] != durable {
				early = append(early, key)
			}
			delete(stages, key)
			answered++
		}
	}
	return early, answered
}

// isMeta: the first two pages are the meta pages.
func isMeta(e syscallEvent) bool {
	at := e.args[strings.LastIndex(e.args, " ")+1:]
	return at == "0" || at == itoa(os.Getpagesize())
}

// TestBoltSyncsBeforeItAnswers: by the account of the system calls, pages and
// meta page were written and synced before the answer went out; with a disk that
// is slow to sync, too.
func TestBoltSyncsBeforeItAnswers(t *testing.T) {
	t.Parallel()
	for name, inject := range map[string][]string{
		"disk as it is": nil,
		"slow disk":     {"-e", "inject=fdatasync:delay_exit=20000"},
	} {
		t.Run(name, func(t *testing.T) {
			const writers = 16
			each := rounds(8, 100)
			w := newWorld(t)
			log := filepath.Join(t.TempDir(), "trace")
			p, url := w.storage("--engine", "bolt", "--data", t.TempDir())
			s := w.trace(p, append(inject, "-y", "-s", "65536", "-o", log, "-e", "trace=read,write,pwrite64,fdatasync,fsync")...)
			client := kvhttp.NewClient(url, kvhttp.ClientOptions{})
			write := func(i, n int) {
				key := fmt.Sprintf("k%d-%d", i, n)
				req := kv.Request{Claim: fence.Claim{Scope: key, Token: 1}}
				if _, err := client.Write(t.Context(), req, key, marker(key)); err != nil {
					t.Error(err)
				}
			}
			for n := range each {
				write(writers, n)
			}
			var wg sync.WaitGroup
			for i := range writers {
				wg.Go(func() {
					for n := range each {
						write(i, n)
					}
				})
			}
			wg.Wait()
			client.Close()
			s.detach()
			early, answered := unsynced(readTrace(t, log))
			if len(early) > 0 {
				t.Errorf("%d of %d writes were answered before they were on the disk: %q", len(early), answered, early)
			}
			if want := (writers + 1) * each; answered != want {
				t.Errorf("the account has %d answers, want %d", answered, want)
			}
		})
	}
}

// TestBoltFailingSync: while no sync succeeds writes are refused, definitely,
// and reads go on; when the disk is well again, so are writes.
func TestBoltFailingSync(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := t.TempDir()
	l := &ledger{t: t, key: "a"}
	for range rounds(2, 20) {
		p, url := w.storage("--engine", "bolt", "--data", data)
		if l.acked > 0 {
			l.check(url)
		}
		l.must(url)
		s := w.trace(p, "-o", os.DevNull, "-e", "trace=fdatasync,fsync", "-e", "inject=fdatasync,fsync:error=EIO")
		for range 5 {
			status, problem := l.write(url)
			if status != http.StatusInsufficientStorage || problem.Type != typeDisk {
				t.Errorf("a write that cannot be synced: %d %+v", status, problem)
			}
			for _, text := range []string{"nothing was written", "input/output error", "kernel's log"} {
				if !strings.Contains(problem.Detail, text) {
					t.Errorf("the answer does not say %q: %s", text, problem.Detail)
				}
			}
			l.check(url)
		}
		s.detach()
		for range 5 {
			l.must(url)
			l.check(url)
		}
		p.signal(syscall.SIGKILL)
		p.want(-1)
		checkFile(t, data)
	}
	_, url := w.storage("--engine", "bolt", "--data", data)
	l.check(url)
}

// TestBoltFailingSyncNowAndThen: some syncs fail, also that of the meta page,
// after which the write may be there or not. Answers say so exactly where the
// account of the system calls does.
func TestBoltFailingSyncNowAndThen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	data := t.TempDir()
	l := &ledger{t: t, key: "a"}
	enough := rounds(3, 30)
	var definite, unknown int
	for round := 0; definite < enough || unknown < enough; round++ {
		if round == 50*enough {
			t.Fatalf("of the syncs that failed none or few were of the kind wanted: %d before the meta page, %d of it", definite, unknown)
		}
		p, url := w.storage("--engine", "bolt", "--data", data)
		if l.acked > 0 {
			l.check(url)
		}
		l.must(url)
		log := filepath.Join(t.TempDir(), "trace")
		// strace counts the calls of each thread: which of them fail is chance.
		s := w.trace(p, "-y", "-o", log, "-e", "trace=write,pwrite64,fdatasync,fsync",
			"-e", fmt.Sprintf("inject=fdatasync,fsync:error=EIO:when=%d+%d", 1+round%4, 2+round%3))
		var answers []string
		for range 20 {
			if status, p := l.write(url); status != http.StatusNoContent {
				answers = append(answers, p.Type)
			}
			l.check(url)
		}
		s.detach()
		l.must(url)
		p.signal(syscall.SIGKILL)
		p.want(-1)
		checkFile(t, data)
		want, hasty := failures(readTrace(t, log))
		if hasty {
			t.Errorf("round %d: after the sync of a meta page had failed, other pages were written before it was synced", round)
		}
		if fmt.Sprint(answers) != fmt.Sprint(want) {
			t.Fatalf("round %d: the answers were\n%q\nand by the system calls they should be\n%q", round, answers, want)
		}
		for _, answer := range want {
			if answer == typeUnknown {
				unknown++
			} else {
				definite++
			}
		}
	}
}

// failures are the problem types that the answers with 507 should have. hasty:
// the pages of a transaction were written while the meta page of the one before
// was not known to be on the disk, and so perhaps over pages that the last
// durable one needs.
func failures(events []syscallEvent) (types []string, hasty bool) {
	meta, unsure, failed := false, false, typeDisk
	for _, e := range events {
		switch {
		case e.name == "pwrite64" && e.end && e.file(boltDB):
			// A file that is opened anew gets both meta pages in one write.
			meta = isMeta(e) && e.ret == itoa(os.Getpagesize())
			hasty = hasty || unsure && !isMeta(e)
		case isSync(e.name) && e.end && e.file(boltDB) && strings.HasPrefix(e.ret, "-1"):
			if meta {
				unsure, failed = true, typeUnknown
			}
		case isSync(e.name) && e.end && e.file(boltDB):
			unsure = false
		case e.name == "write" && !e.end && strings.Contains(e.args, `"HTTP/1.1 507`):
			types = append(types, failed)
			failed = typeDisk
		}
	}
	return types, hasty
}
