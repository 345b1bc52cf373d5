package kv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/fencelab/fencelab/pkg/fence"
)

// lockTimeout is how long to wait for another process that has the file open.
const lockTimeout = time.Second

// boltFile is a bbolt database that goes on after its disk has failed, and says
// of each failure what it means. It does not panic at a damaged page.
type boltFile struct {
	path string

	mu sync.RWMutex // held for writing while the file is opened anew
	db *bbolt.DB    // nil where that failed

	writer sync.Mutex // held by Update, and guards what follows
	closed bool
	unsure bool  // Update opens the file anew first
	broken error // what bbolt panicked with in a commit: its state is not to be trusted
}

// openBoltFile opens the database at path, or makes one of no items. A file that is not
// whole is left as it is, and an error.
func openBoltFile(path string) (*boltFile, error) {
	f := &boltFile{path: path}
	if err := makeBoltFile(path); err != nil {
		return nil, fmt.Errorf("make %s: %w%s", path, err, advice(err))
	}
	if err := f.open(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// makeBoltFile makes the database at path if there is none, whole or not at all: what a full disk
// or a crash left of it would be a damaged one.
func makeBoltFile(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), boltName+".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name()) // which leaves the other name, or nothing
	if err := file.Close(); err != nil {
		return err
	}
	err = guard(func() error {
		db, err := bbolt.Open(file.Name(), 0o600, nil)
		if err != nil {
			return err
		}
		return errors.Join(db.Update(makeFormat), db.Close())
	})
	if err != nil {
		return err
	}
	err = os.Link(file.Name(), path)
	if err == nil || errors.Is(err, fs.ErrExist) { // another process has made one
		return nil
	}
	return os.Rename(file.Name(), path) // on a file system without links
}

// refusedFile says what to do about a file that is no whole database of the storage's.
func refusedFile(path string, err error) error {
	if errors.Is(err, ErrDisk) {
		return fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%s cannot be opened as a database: %w; it was left as it is: restore a backup, or move it away to begin anew, with no data and no marks", path, err)
}

func (f *boltFile) open() error {
	err := checkBoltFile(f.path)
	if err == nil {
		err = guard(func() (err error) {
			f.db, err = bbolt.Open(f.path, 0o600, &bbolt.Options{Timeout: lockTimeout})
			return err
		})
	}
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("%s is in use by another process: end that one, or give --data another directory", f.path)
	case err != nil:
		return refusedFile(f.path, err)
	}
	return f.settle()
}

// settle makes durable what this database begins with. After a sync that failed the kernel takes pages for
// written that are not: they are read as if they were on the disk, and a later sync that succeeds does not
// write them. bbolt's next transaction would write over pages that the last durable meta page still needs. So
// the meta pages are written again as they are; what they lead to was synced before they were written.
func (f *boltFile) settle() error {
	file, err := os.OpenFile(f.path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	metas := make([]byte, 2*f.db.Info().PageSize)
	if _, err = file.ReadAt(metas, 0); err == nil {
		_, err = file.WriteAt(metas, 0)
	}
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = syncDir(filepath.Dir(f.path)) // or a new file could be lost as a whole
	}
	return errors.Join(err, file.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Close waits for readers.
func (f *boltFile) Close() error {
	f.writer.Lock()
	defer f.writer.Unlock()
	f.closed = true
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.db == nil || f.broken != nil { // bbolt may still hold its lock, for ever
		return nil
	}
	return f.db.Close()
}

// View runs fn in a transaction that reads. It changes nothing, so its errors are definite.
func (f *boltFile) View(fn func(*bbolt.Tx) error) error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.db == nil {
		return fence.Definite.Wrap(fmt.Errorf("%w: %s could not be opened again after its disk failed; the next write tries it once more", ErrUnavailable, f.path))
	}
	if err := guard(func() error { return f.db.View(fn) }); err != nil {
		return fence.Definite.Wrap(err)
	}
	return nil
}

// Update runs fn in a transaction that writes. An error of fn undoes it, and so is definite. Any
// other error is a *CommitError or ErrClosed.
func (f *boltFile) Update(fn func(*bbolt.Tx) error) error {
	f.writer.Lock()
	defer f.writer.Unlock()
	if f.closed {
		return ErrClosed
	}
	if f.broken != nil {
		return &CommitError{Err: fmt.Errorf("%w; restart the storage, which looks at the file anew", f.broken)}
	}
	if f.unsure {
		if err := f.reopen(); err != nil {
			return &CommitError{Err: err}
		}
		f.unsure = false
	}
	var id int
	var own error
	err := guard(func() error {
		return f.db.Update(func(tx *bbolt.Tx) error {
			id = tx.ID()
			own = fn(tx)
			return own
		})
	})
	switch {
	case err == nil:
		return nil
	case own != nil:
		return fence.Definite.Wrap(err)
	}
	if errors.Is(err, errDamaged) {
		f.broken = err
	}
	// The meta page is written last. Where it can be seen, its sync failed, or what came after.
	seen := 0
	lost := f.View(func(tx *bbolt.Tx) error {
		seen = tx.ID()
		return nil
	})
	f.unsure = lost != nil || id != 0 && seen >= id
	return &CommitError{Err: err, Unknown: id != 0 && f.unsure}
}

// writeTime is how long pages took to be written and synced, since the file was opened.
func (f *boltFile) writeTime() time.Duration {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.db == nil {
		return 0
	}
	stats := f.db.Stats()
	return stats.TxStats.GetWriteTime()
}

// reopen is what a restart would do. bbolt itself must not go on: it would reuse the pages that the uncertain
// transaction freed, while earlier readers still read them. Closing waits for these readers.
func (f *boltFile) reopen() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.db != nil {
		err := f.db.Close()
		f.db = nil
		if err != nil {
			return err
		}
	}
	return f.open()
}

var errDamaged = errors.New("the database is damaged")

// guard runs fn, and returns what bbolt panics with at a damaged page as an
// error; a page behind the end of the file is a fault.
func guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errDamaged, p)
		}
	}()
	return fn()
}

// CommitError is why a transaction could not be made durable: the disk refused it. It matches ErrDisk. With
// Unknown it may be there after all, then or after the next start; without, nothing was done.
type CommitError struct {
	Err     error
	Unknown bool
}

func (e *CommitError) Error() string {
	outcome := "nothing was written"
	if e.Unknown {
		outcome = "the outcome is unknown"
	}
	return fmt.Sprintf("%s: the disk failed: %v%s", outcome, e.Err, advice(e.Err))
}

func (e *CommitError) Unwrap() error { return e.Err }

// Is makes errors.Is(err, ErrDisk) true.
func (e *CommitError) Is(target error) bool { return target == ErrDisk }

// Outcome returns fence.Unknown or fence.Definite.
func (e *CommitError) Outcome() fence.Outcome {
	if e.Unknown {
		return fence.Unknown
	}
	return fence.Definite
}

// advice is what to do about an error of the disk; empty where nothing is known.
func advice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "; the disk is full: make room, and writes work again"
	case errors.Is(err, syscall.EROFS):
		return "; the file system is read-only, as it becomes where its disk fails: see the kernel's log"
	case errors.Is(err, syscall.EIO):
		return "; see the kernel's log, and whether this disk can still be trusted"
	}
	return ""
}
