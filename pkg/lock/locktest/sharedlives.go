package locktest

import (
	"errors"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
)

// The checks of readers that live on, or crash, while others read or wait.

func crashFreesShared(t *trial) error {
	if _, err := t.readers(t.a, t.a); err != nil {
		return err
	}
	if err := t.crash(t.a); err != nil {
		return err
	}
	_, err := t.pass(t.b)
	return err
}

// livingReader: a writer has waited in vain meanwhile.
func livingReader(t *trial) error {
	return t.outlasts(func(c Client) (lock.Tenure, error) {
		reader, err := t.rlock(c)
		if err != nil {
			return nil, err
		}
		return reader, t.waitsInVain(t.c, t.TTL/4, reader)
	})
}

// patientReaderLives: the reader has waited for somewhat longer than the TTL.
func patientReaderLives(t *trial) error {
	writer, err := t.lock(t.c)
	if err != nil {
		return err
	}
	next := t.background(t.reading(t.a))
	time.Sleep(t.TTL - t.TTL/10) // stands for no event: the reader waits
	if err := t.unlock(writer); err != nil {
		return err
	}
	got := <-next
	if got.err != nil {
		return got.err
	}
	return t.goesOn(got.tenure)
}

func tryRLockLives(t *trial) error { return t.outlasts(t.tryRLock) }

// readerOutlastsOthers: another client's reader, which came before, and the client's own, which came after, release the lock.
func readerOutlastsOthers(t *trial) error {
	return t.outlasts(func(c Client) (lock.Tenure, error) {
		readers, err := t.readers(t.c, c, c)
		if err != nil {
			return nil, err
		}
		return readers[1], errors.Join(t.unlock(readers[0]), t.unlock(readers[2]))
	})
}

// crashedReader: the one that crashes came first, or last.
func crashedReader(t *trial) error {
	return each(func(t *trial) error { return t.crashedReader(1, t.b, t.a) }, afresh("the first reader",
		func(t *trial) error { return t.crashedReader(0, t.a, t.b) }))(t)
}

// crashedReader: others come and go meanwhile, which makes the lease of the one that crashed no longer.
func (t *trial) crashedReader(place int, clients ...Client) error {
	readers, err := t.readers(clients...)
	if err != nil {
		return err
	}
	if err := t.crash(clients[place]); err != nil {
		return err
	}
	living := readers[1-place]
	err = t.throughout(t.bound(), func() error {
		if err := errors.Join(current(living), t.held(t.c)); err != nil {
			return err
		}
		other, err := t.tryRLock(t.c)
		if err != nil {
			return err
		}
		return t.unlock(other)
	})
	if err != nil {
		return fmt.Errorf("of a reader beside which another one crashed: %w", err)
	}
	if err := t.unlock(living); err != nil {
		return fmt.Errorf("of a reader beside which another one crashed: %w", err)
	}
	if err := t.free(t.c); err != nil {
		return fmt.Errorf("%v after a reader crashed: %w", t.bound(), err)
	}
	return nil
}

// crashedBesideWriter: a writer waits meanwhile, for whom the end of the reader that crashed is not that of all readers.
func crashedBesideWriter(t *trial) error {
	readers, err := t.readers(t.a, t.b)
	if err != nil {
		return err
	}
	if err := t.crash(t.b); err != nil {
		return err
	}
	if err := t.waitsInVain(t.c, t.bound(), readers[0]); err != nil {
		return fmt.Errorf("of a reader beside which another one crashed: %w", err)
	}
	return t.unlock(readers[0])
}

// writerBehindReaders: of two readers that a writer waits for one crashes, and the other one releases the lock before the
// lease of the first is over.
func writerBehindReaders(t *trial) error {
	readers, err := t.readers(t.a, t.b)
	if err != nil {
		return err
	}
	next := t.background(t.locking(t.c))
	if err := errors.Join(t.crash(t.b), t.unlock(readers[0])); err != nil {
		return err
	}
	if got := <-next; got.err != nil {
		return fmt.Errorf("to a writer behind a reader that crashed and one that released the lock: %w", got.err)
	}
	return nil
}

func lateUnlockOfReader(t *trial) error {
	old, err := t.rlock(t.a)
	if err != nil {
		return err
	}
	if err := t.crash(t.a); err != nil {
		return err
	}
	if _, err := t.pass(t.b); err != nil { // a writer, so that the reader's tenure is over
		return err
	}
	readers, err := t.readers(t.b, t.b)
	if err != nil {
		return err
	}
	if err := t.wake(t.a); err != nil {
		return err
	}
	for _, reader := range readers { // each after one more Unlock
		if err := t.unlock(old); !errors.Is(err, lock.ErrLost) {
			return fmt.Errorf("unlock of the reader %+v, which was over: %v, want ErrLost", old.Grant(), err)
		}
		if err := errors.Join(current(reader), t.held(t.c)); err != nil {
			return fmt.Errorf("after the unlock of the reader %+v, which was over: %w", old.Grant(), err)
		}
		if err := t.unlock(reader); err != nil {
			return fmt.Errorf("after the unlock of the reader %+v, which was over: %w", old.Grant(), err)
		}
	}
	return t.free(t.c)
}
