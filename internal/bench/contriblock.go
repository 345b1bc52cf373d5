package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// The storage of contrib/lock, and the one address that it knows.
const (
	originalPackage = "go.etcd.io/etcd/v3/contrib/lock/storage"
	originalAddress = "127.0.0.1:8080"
)

// contribLock compares POST / with contrib/lock's own storage.
func (b *bench) contribLock() error {
	const title = "POST /, beside contrib/lock's own storage"
	original, err := b.original()
	if err != nil {
		b.report.note(title, "Not measured: "+strings.ReplaceAll(err.Error(), "\n", " ")+".")
		return nil
	}
	ours, err := b.storage()
	if err != nil {
		return err
	}
	t := b.report.table(title,
		"A write to 1,000 keys by the protocol of contrib/lock, whose own storage has no timeouts, no limits, no metrics and no locks around its map; all keys are there before, because contrib/lock's storage crashes when two new keys come at once. *of the original*: the rate as a part of the original's, of the same round. *by processor time*: the same, by the time that server and client took on the processor.",
		"connections", "", "requests/s", "of the original", "by processor time", "processor time a request of server, client")
	for _, s := range []*server{ours, original} {
		if err := fill(s, contribWrite(fewKeys)); err != nil {
			return err
		}
	}
	for _, conns := range overheadConns {
		results, err := b.raceLoads(conns,
			rival{"storage", ours, contribWrite(fewKeys)},
			rival{"contrib/lock's storage", original, contribWrite(fewKeys)})
		if err != nil {
			return err
		}
		reference := results[1]
		t.compare(conns, results, reference)
		b.report.goal(fmt.Sprintf("POST /, connections: %d; rate of contrib/lock's own storage", conns), atLeast, 1, ratios(results[0].rates, reference.rates))
	}
	return stop(ours, original)
}

// original builds and starts contrib/lock's storage, which package originals pins.
func (b *bench) original() (*server, error) {
	ln, err := net.Listen("tcp", ":8080") // where it listens
	if err != nil {
		return nil, fmt.Errorf("contrib/lock's storage knows one port: %w", err)
	}
	if err := ln.Close(); err != nil {
		return nil, err
	}
	mod, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return nil, fmt.Errorf("go env GOMOD: %w", err)
	}
	originals := filepath.Join(filepath.Dir(strings.TrimSpace(string(mod))), "internal", "originals")
	program := filepath.Join(b.group.Dir, "contriblock-storage")
	build := exec.Command("go", "-C", originals, "build", "-buildvcs=false", "-o", program, originalPackage)
	build.Env = append(os.Environ(), "GOWORK=off") // go.work leaves the originals out
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot build %s: %w: %s", originalPackage, err, strings.TrimSpace(string(out)))
	}
	return b.startAt(originalAddress, roleExec, program)
}

// fill sends the request of each key once, one after another.
func fill(s *server, x exchange) error {
	l, err := dial(s.addr, 1, x)
	if err != nil {
		return err
	}
	defer l.close()
	_, err = l.once(fewKeys)
	return err
}

// contribWrite is a write by contrib/lock's protocol. All have the same version:
// the original refuses every other.
func contribWrite(keys int) exchange {
	body := func(buf []byte, n int) []byte {
		buf = appendKey(append(buf, `{"op":"write","key":"`...), n, keys)
		return append(buf, `","val":"`+value+`","version":34}`...)
	}
	head := fmt.Sprintf("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(body(nil, 0)))
	return exchange{
		ops:     1,
		request: func(buf []byte, n int) []byte { return body(append(buf, head...), n) },
		answer:  contribWritten,
	}
}

// contribWritten reads the answer of a write that was done.
func contribWritten(r *bufio.Reader) error {
	const length, want = "Content-Length: ", `{"val":"` + value + `","version":34,"err":""}`
	size := 0
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimSuffix(line, []byte("\r\n"))
		if len(line) == 0 {
			break
		}
		if after, ok := bytes.CutPrefix(line, []byte(length)); ok {
			if size, err = strconv.Atoi(string(after)); err != nil {
				return err
			}
		}
	}
	body, err := r.Peek(size)
	if err != nil {
		return err
	}
	if string(body) != want {
		return errors.New("the answer is not that of a write: " + string(body))
	}
	_, err = r.Discard(size)
	return err
}
