package lockfile

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/pkg/fence"
)

// The names of a lock's files end so: the lock file itself, the one under whose lock the lock
// file is removed, and the one that has the last token. Before a lock file is released it gets a
// name with that of its tenure.
const (
	isLock  = ".lock"
	isGuard = ".guard"
	isCount = ".count"
	isFree  = ".free"
)

func fileOf(dir, lock, ending string) string {
	return filepath.Join(dir, url.PathEscape(lock)+ending)
}

// partsOf reads the name of a lock file, and of one that its owner has released; false: it is
// another file.
func partsOf(name string) (lock, owner string, is bool) {
	escaped, is := strings.CutSuffix(name, isLock)
	if !is {
		if escaped, is = strings.CutSuffix(name, isFree); is {
			dot := strings.LastIndexByte(escaped, '.')
			escaped, owner = escaped[:max(dot, 0)], escaped[dot+1:]
		}
	}
	lock, err := url.PathUnescape(escaped)
	return lock, owner, is && err == nil
}

// content is what a lock file says: the name of the tenure, and its TTL.
type content struct {
	owner string
	ttl   time.Duration
}

// readContent reads a lock file from its beginning. It is zero where its holder has not written it
// yet.
func readContent(f *os.File) (c content, err error) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<10))
	if err != nil || len(text) == 0 {
		return content{}, err
	}
	owner, ttl, _ := strings.Cut(strings.TrimSuffix(string(text), "\n"), " ")
	c.owner = owner
	if c.ttl, err = time.ParseDuration(ttl); err != nil {
		return content{}, fmt.Errorf("%s says %q, want a name and a TTL", f.Name(), text)
	}
	return c, nil
}

// named reports whether a file still has its name.
func named(f *os.File) bool {
	mine, err := f.Stat()
	now, gone := os.Stat(f.Name())
	return err == nil && gone == nil && os.SameFile(mine, now)
}

// alone does something while no other process does so by the same file. The kernel ends what a
// process has when the process ends.
func alone(ctx context.Context, path string, do func(*os.File) error) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		switch has, err := flock(f); {
		case err != nil:
			return err
		case has:
			return do(f)
		}
		if !sleep.For(ctx, retry) {
			return ctx.Err()
		}
	}
}

// raise makes the number in a file one higher. What it returns is on disk.
func raise(f *os.File) (fence.Token, error) {
	text, err := io.ReadAll(f)
	if err != nil {
		return 0, err
	}
	var last int64
	if len(text) > 0 {
		if last, err = strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err != nil {
			return 0, fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	if _, err := f.WriteAt(fmt.Appendln(nil, last+1), 0); err != nil {
		return 0, err
	}
	return fence.Token(last + 1), f.Sync()
}
