package lockfile

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// client takes its locks by a recipe in a directory.
type client struct {
	dir      string
	settings setting.Values
	recipe   *recipe
	life     context.Context // of all its tenures
	end      context.CancelFunc
}

func (c *client) Reach(context.Context) error {
	_, err := os.ReadDir(c.dir)
	return err
}

// Close leaves the lock files of tenures that go on: nobody touches them any more.
func (c *client) Close(context.Context) error {
	c.end()
	return nil
}

func (c *client) Lock(ctx context.Context, scope, in string) (service.Tenure, error) {
	if in != "" {
		return nil, service.NotIn(Name, in)
	}
	return c.wait(ctx, scope, func(string) {})
}

func (c *client) TryLock(ctx context.Context, scope, in string) (service.Tenure, error) {
	if in != "" {
		return nil, service.NotIn(Name, in)
	}
	return c.try(ctx, scope, rand.Text())
}

func (c *client) Enqueue(ctx context.Context, scope string) (service.Place, error) {
	return service.Wait(ctx, scope, func(ctx context.Context, stands func(string)) (service.Tenure, error) {
		return c.wait(ctx, scope, stands)
	})
}

// retry is how often a client that waits looks again.
const retry = 20 * time.Millisecond

// wait tries until the lock is the client's, or ctx is done. It calls stands with the name of the
// tenure to be when the lock is another's.
func (c *client) wait(ctx context.Context, scope string, stands func(owner string)) (service.Tenure, error) {
	for owner := rand.Text(); ; {
		t, err := c.try(ctx, scope, owner)
		if err != lock.ErrLocked {
			return t, err
		}
		stands(owner)
		sleep.For(ctx, retry)
	}
}

// try makes one attempt. The error is lock.ErrLocked where the lock is another's.
func (c *client) try(ctx context.Context, scope, owner string) (service.Tenure, error) {
	for {
		if ctx.Err() != nil {
			return nil, fence.Definite.Wrap(ctx.Err())
		}
		f, err := os.OpenFile(fileOf(c.dir, scope, isLock), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
		if err == nil {
			return c.begin(ctx, f, scope, owner)
		}
		broken := false
		if errors.Is(err, fs.ErrExist) {
			broken, err = c.breakStale(ctx, scope)
		}
		switch {
		case err != nil:
			return nil, fence.Definite.Wrap(err)
		case !broken:
			return nil, lock.ErrLocked
		}
	}
}

// breakStale removes a lock file that nobody has touched for the TTL, and reports whether there is none now.
func (c *client) breakStale(ctx context.Context, scope string) (broken bool, err error) {
	path := fileOf(c.dir, scope, isLock)
	if stale, err := c.stale(path); !stale || err != nil {
		return false, err
	}
	if !sleep.For(ctx, c.settings.Time(settingLinger)) {
		return false, nil
	}
	err = c.guard(ctx, scope, func() error {
		if c.recipe.guarded {
			if stale, err := c.stale(path); !stale || err != nil {
				return err
			}
		}
		broken = true
		return os.Remove(path)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return broken, err
}

// guard does what removes a lock file. Under a recipe with a guard nobody else does so meanwhile.
func (c *client) guard(ctx context.Context, scope string, do func() error) error {
	if !c.recipe.guarded {
		return do()
	}
	return alone(ctx, fileOf(c.dir, scope, isGuard), func(*os.File) error { return do() })
}

// stale reports whether nobody has touched a lock file for the TTL that it names. Where it names
// none, the TTL is the client's own.
func (c *client) stale(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	says, err := readContent(f)
	if err != nil {
		return false, err
	}
	info, err := f.Stat()
	if err != nil {
		return false, err
	}
	if says.owner == "" {
		says.ttl = c.settings.Time(setting.TTL)
	}
	return time.Since(info.ModTime()) > says.ttl, nil
}

// begin is what the client does with a lock file that it has created.
func (c *client) begin(ctx context.Context, f *os.File, scope, owner string) (service.Tenure, error) {
	t := &tenure{Life: service.NewLife(), of: c, file: f, grant: lock.Grant{Scope: scope, Owner: owner}}
	err := t.touch()
	if err == nil {
		go t.keep()
		service.Stand(ctx, owner)
		if c.settings.Text(setting.Token) == tokenCounter {
			err = alone(ctx, fileOf(c.dir, scope, isCount), func(f *os.File) (err error) {
				t.grant.Token, err = raise(f)
				return err
			})
		}
	}
	switch {
	case err != nil:
		leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), service.LastAnswer)
		defer cancel()
		if left := t.Unlock(leaving); left != nil && !errors.Is(left, lock.ErrLost) {
			return nil, &lock.UnknownError{Op: "lock", Scope: scope, Err: errors.Join(err, left)}
		}
		return nil, fence.Definite.Wrap(fmt.Errorf("lock %q: %w", scope, err))
	case !named(f): // then the token may be higher than that of the holder
		t.End(lock.ErrLost)
		return nil, service.ErrRanOut
	}
	return t, nil
}

// tenure is one of a client. It keeps its lock file open: so it touches no file of another, though
// another has its name, and sees that its own has the name no more.
type tenure struct {
	*service.Life
	of      *client
	file    *os.File
	grant   lock.Grant
	touched time.Time // by the file's own time
}

func (t *tenure) ttl() time.Duration { return t.of.settings.Time(setting.TTL) }

// touch writes to the file what it says already.
func (t *tenure) touch() error {
	if _, err := t.file.WriteAt(fmt.Appendf(nil, "%s %s\n", t.grant.Owner, t.ttl()), 0); err != nil {
		return err
	}
	info, err := t.file.Stat()
	if err == nil {
		t.touched = info.ModTime()
	}
	return err
}

// keep touches the file until the tenure is over. A file that others may call stale is not touched again.
func (t *tenure) keep() {
	stop := context.AfterFunc(t.of.life, func() { t.End(lock.ErrCutOff) })
	defer stop()
	for sleep.For(t.Context(), t.ttl()/3) {
		switch {
		case !named(t.file):
			t.End(lock.ErrLost)
		case time.Since(t.touched) >= t.ttl():
			t.End(lock.ErrCutOff)
		default:
			_ = t.touch() // until it has failed for the TTL
		}
	}
}

func (t *tenure) Grant() lock.Grant { return t.grant }

// Unlock gives the file a name with that of the tenure, and then removes it: so the kernel tells
// whose it was, though nobody has read it.
func (t *tenure) Unlock(ctx context.Context) error {
	if !t.End(nil) {
		return lock.ErrLost
	}
	defer t.file.Close()
	err := t.of.guard(ctx, t.grant.Scope, func() error {
		if !named(t.file) {
			return lock.ErrLost
		}
		free := fileOf(t.of.dir, t.grant.Scope, "."+t.grant.Owner+isFree)
		return errors.Join(os.Rename(t.file.Name(), free), os.Remove(free))
	})
	if err == nil || err == lock.ErrLost {
		return err
	}
	return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: err}
}

func (t *tenure) Name() string { return t.grant.Owner }

func (t *tenure) Session() string { return t.grant.Owner }

func (t *tenure) Shown() (token fence.Token, remark string) { return t.grant.Token, "" }

// Look looks whether the lock file is the tenure's own.
func (t *tenure) Look(context.Context, string) (said string, err error) {
	question := fmt.Sprintf("looked whose the lock file of %s is", t.grant.Scope)
	if !named(t.file) {
		return "", service.NotHeld(question + ": not its own")
	}
	return question + ": its own", nil
}

// The names of a lock's files end so: the lock file itself, the one under whose lock the lock file is removed, and
// the one that has the last token. Before a lock file is released it gets a name with that of its tenure.
const (
	isLock  = ".lock"
	isGuard = ".guard"
	isCount = ".count"
	isFree  = ".free"
)

func fileOf(dir, lock, ending string) string {
	return filepath.Join(dir, url.PathEscape(lock)+ending)
}

// partsOf reads the name of a lock file, and of one that its owner has released; false: it is another file.
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

// readContent reads a lock file from its beginning. It is zero where its holder has not written it yet.
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
