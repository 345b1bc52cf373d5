package lockfile

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/kernel"
	"github.com/fencelab/fencelab/internal/service"
)

type change struct {
	kind  changeKind
	lock  string
	owner string // of a file that was released
}

type changeKind int

const (
	isCreated changeKind = iota
	isWritten
	isRemoved
	isReleased
)

// account is the lock service's own account of tenures. A tenure begins when its lock file is
// created. It ends when the file is removed or released, or when nobody has touched it for the TTL.
// The kernel tells of all but the last, in its own order. Whose a file is, it says itself.
type account struct {
	told service.Account
	dir  string

	mu    sync.Mutex
	files map[string]*lockFile // lock → the file that is there, by what the kernel has told so far
}

// lockFile is one that was created. It is kept open, so that it can be read when it is gone.
type lockFile struct {
	*os.File // nil: it was not opened yet
	content  // zero: it has said nothing yet
	lock     string
	created  time.Duration // since 1970
	lease    *time.Timer   // nil: it has said nothing yet
	over     bool          // the tenure has ended
}

func newAccount(told service.Account, dir string) *account {
	return &account{told: told, dir: dir, files: make(map[string]*lockFile)}
}

// follow takes in what the kernel tells, until that ends. It opens files only when it has taken in
// all. If the kernel has nothing to tell after that, they are the files of which it told; else
// others may have their names by now, and they are opened again.
func (a *account) follow(told *os.File) error {
	now, err := told.SyscallConn()
	if err != nil {
		return err
	}
	for buffer := make([]byte, 64<<10); ; {
		n, err := told.Read(buffer)
		if err != nil {
			return err
		}
		for n > 0 {
			if err := a.see(buffer[:n]); err != nil {
				return err
			}
			if n = kernel.ReadNow(now, buffer); n > 0 {
				continue
			}
			opened, err := a.open()
			if err != nil {
				return err
			}
			if n = kernel.ReadNow(now, buffer); n > 0 {
				for _, f := range opened {
					_ = f.Close()
					f.File = nil
				}
				continue
			}
			if err := a.beginAll(); err != nil {
				return err
			}
		}
	}
}

// see takes in changes. An error says what the account has missed: then it is none.
func (a *account) see(told []byte) error {
	list, err := changes(told)
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range list {
		f := a.files[c.lock]
		switch {
		case c.kind == isCreated:
			a.files[c.lock] = &lockFile{lock: c.lock, created: now()}
		case f == nil:
			return fmt.Errorf("the lock file of %s was changed, and nobody has told that it was created", c.lock)
		case c.kind != isWritten:
			if err := a.remove(f, c.owner); err != nil {
				return err
			}
		}
	}
	return err
}

// open opens the files that were not opened yet.
func (a *account) open() (opened []*lockFile, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.files {
		if f.File != nil {
			continue
		}
		f.File, err = os.Open(fileOf(a.dir, f.lock, isLock))
		switch {
		case err == nil:
			opened = append(opened, f)
		case !errors.Is(err, fs.ErrNotExist): // of that the kernel is about to tell
			return nil, err
		}
	}
	return opened, nil
}

// beginAll begins the tenures of which the files now say whose they are.
func (a *account) beginAll() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.files {
		if err := a.begin(f, ""); err != nil {
			return err
		}
	}
	return nil
}

// begin tells of a tenure, once, when it is known whose it is: owner's, or by what its file says.
func (a *account) begin(f *lockFile, owner string) (err error) {
	if f.owner == "" && f.File != nil {
		f.content, err = readContent(f.File)
	}
	f.owner = cmp.Or(f.owner, owner)
	if err != nil || f.owner == "" || f.lease != nil {
		return err
	}
	a.told.Tell(history.Event{At: f.created, Lane: Name, Kind: history.KindGranted, Scope: f.lock, Tenure: f.owner})
	f.lease = time.AfterFunc(f.left(), func() { a.expire(f) })
	return nil
}

// left is the time until the file is stale.
func (f *lockFile) left() time.Duration {
	if f.File == nil {
		return f.ttl
	}
	info, err := f.Stat()
	if err != nil {
		return 0 // it is closed
	}
	return time.Until(info.ModTime().Add(f.ttl))
}

// expire tells of the end of a tenure whose file is stale. Where it was touched, expire looks again later.
func (a *account) expire(f *lockFile) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch left := f.left(); {
	case f.over:
	case left > 0:
		f.lease.Reset(left)
	default:
		a.end(f, history.Event{})
	}
}

// remove takes in that a file is gone, and that it was its owner who released it; "": somebody removed it.
func (a *account) remove(f *lockFile, owner string) error {
	err := a.begin(f, owner)
	if err == nil && f.owner == "" {
		err = fmt.Errorf("nobody knows whose tenure that was: the lock file of %s was gone before it could be read", f.lock)
	}
	if err != nil {
		return err
	}
	var e history.Event
	if f.owner == owner || f.left() > 0 {
		e.Cause, e.Text = history.CauseRevoked, "its lock file was removed" // unless its client let go of it
	}
	a.end(f, e)
	delete(a.files, f.lock)
	if f.File != nil {
		_ = f.Close()
	}
	return nil
}

// end tells of the end of a tenure, once.
func (a *account) end(f *lockFile, e history.Event) {
	if f.over {
		return
	}
	f.over = true
	f.lease.Stop()
	e.At, e.Lane, e.Kind, e.Scope, e.Tenure = now(), Name, history.KindEnded, f.lock, f.owner
	a.told.Tell(e)
}

// close forgets the files. Nothing is told after it.
func (a *account) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, f := range a.files {
		f.over = true
		if f.File != nil {
			_ = f.Close()
		}
	}
}

func now() time.Duration { return time.Duration(time.Now().UnixNano()) }
