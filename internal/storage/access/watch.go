package access

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// checkEvery is how long a changed file may go unnoticed, once it is used. Tests look more often.
var checkEvery = time.Second

// maxFile is the most that a file may hold, in bytes.
const maxFile = 1 << 20

// watched is what some files say together. It reads them again when it is used, at most once every
// checkEvery. There is no goroutine to stop, and the contents are compared, not times and inodes: that misses
// no change, and the files are small.
type watched[T any] struct {
	files []string
	parse func(contents [][]byte) (*T, error)
	log   *slog.Logger

	current atomic.Pointer[T]
	start   time.Time
	due     atomic.Int64 // the next check, in nanoseconds after start

	mu   sync.Mutex // held by the one that checks
	seen string     // what the last check found, so that it is told once
}

func watch[T any](log *slog.Logger, parse func([][]byte) (*T, error), files ...string) (*watched[T], error) {
	w := &watched[T]{files: files, parse: parse, log: cmp.Or(log, slog.New(slog.DiscardHandler)), start: time.Now()}
	if _, err := w.check(); err != nil {
		return nil, err
	}
	w.due.Store(int64(checkEvery))
	return w, nil
}

// get is the newest that could be understood. While one caller looks at the
// files, all others go on with what there is.
func (w *watched[T]) get() *T {
	if now := int64(time.Since(w.start)); now >= w.due.Load() && w.mu.TryLock() {
		defer w.mu.Unlock()
		changed, err := w.check()
		if names := strings.Join(w.files, ", "); err != nil {
			w.log.Error("changed files cannot be used; what they said before stays in force", "files", names, "err", err)
		} else if changed {
			w.log.Info("changed files are in force", "files", names)
		}
		w.due.Store(now + int64(checkEvery))
	}
	return w.current.Load()
}

// check takes in what the files say, if that has changed since it was called before.
func (w *watched[T]) check() (changed bool, err error) {
	contents, seen, err := w.read()
	if seen == w.seen {
		return false, nil
	}
	w.seen = seen
	if err != nil {
		return true, err
	}
	v, err := w.parse(contents)
	if err == nil {
		w.current.Store(v)
	}
	return true, err
}

// read reads all files. seen tells what was found, error or contents, from other finds, and keeps no secret.
func (w *watched[T]) read() (contents [][]byte, seen string, err error) {
	sum := sha256.New()
	for _, name := range w.files {
		b, err := readFile(name)
		if err != nil {
			return nil, err.Error(), err
		}
		fmt.Fprintln(sum, len(b))
		sum.Write(b)
		contents = append(contents, b)
	}
	return contents, string(sum.Sum(nil)), nil
}

// readFile reads a regular file: it must be possible to read it again, without waiting for anyone.
func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file, want one: it is read again when it changes", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes: it cannot be meant", name, maxFile)
	}
	return b, nil
}
