package locktest

import (
	"context"
	"errors"
	"fmt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// readers lets each client have the lock shared, at the same time.
func (t *trial) readers(clients ...Client) ([]lock.Tenure, error) {
	var readers []lock.Tenure
	for i, c := range clients {
		take := t.rlock
		if i == len(clients)-1 {
			take = t.tryRLock
		}
		reader, err := take(c)
		if err != nil {
			return nil, fmt.Errorf("a shared lock, beside %d others: %w", i, err)
		}
		if err := t.valid(reader.Grant(), fence.Shared); err != nil {
			return nil, err
		}
		readers = append(readers, reader)
	}
	return readers, nil
}

func sharedOverlap(t *trial) error {
	readers, err := t.readers(t.a, t.b, t.a, t.c)
	if err != nil {
		return err
	}
	owners := make(map[string]bool)
	for _, reader := range readers {
		owners[reader.Grant().Owner] = true
		if err := t.unlock(reader); err != nil {
			return fmt.Errorf("unlock of one who shares the lock: %w", err)
		}
	}
	if len(owners) != len(readers) {
		return fmt.Errorf("%d shared tenures have the owners %v, want one each", len(readers), owners)
	}
	return t.free(t.b)
}

func readersKeepWriterOut(t *trial) error {
	readers, err := t.readers(t.a, t.b)
	if err != nil {
		return err
	}
	for _, reader := range readers {
		if err := t.held(t.c); err != nil {
			return fmt.Errorf("of readers, to a writer: %w", err)
		}
		if err := t.unlock(reader); err != nil {
			return err
		}
	}
	return t.free(t.c)
}

func writerKeepsReadersOut(t *trial) error {
	writer, err := t.lock(t.a)
	if err != nil {
		return err
	}
	if err := t.valid(writer.Grant(), fence.Exclusive); err != nil {
		return err
	}
	if reader, err := t.tryRLock(t.b); err == nil {
		return fmt.Errorf("TryRLock granted %+v while %+v was current", reader.Grant(), writer.Grant())
	} else if !errors.Is(err, lock.ErrLocked) {
		return fmt.Errorf("TryRLock on a lock that a writer holds: %w, want ErrLocked", err)
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.TTL/4)
	defer cancel()
	if reader, err := sharer(t.b).RLock(ctx, t.scope); err == nil {
		return fmt.Errorf("RLock granted %+v while %+v was current", reader.Grant(), writer.Grant())
	}
	if err := t.unlock(writer); err != nil {
		return err
	}
	reader, err := t.rlock(t.b)
	if err != nil {
		return fmt.Errorf("after the writer's release: %w", err)
	}
	if err := t.unlock(reader); err != nil {
		return err
	}
	return t.free(t.c)
}

func tokensOverModes(t *trial) error {
	var before lock.Grant
	for range 2 {
		for _, take := range []func(Client) (lock.Tenure, error){t.lock, t.rlock} {
			tenure, err := take(t.a)
			if err != nil {
				return err
			}
			if err := t.grow(before, tenure.Grant()); err != nil {
				return err
			}
			before = tenure.Grant()
			if err := t.unlock(tenure); err != nil {
				return err
			}
		}
	}
	return nil
}

func readersUnlock(t *trial) error {
	readers, err := t.readers(t.a, t.a, t.b)
	if err != nil {
		return err
	}
	if err := t.unlock(readers[0]); err != nil {
		return err
	}
	if err := t.unlock(readers[0]); !errors.Is(err, lock.ErrLost) {
		return fmt.Errorf("a second unlock of %+v: %v, want ErrLost", readers[0].Grant(), err)
	}
	for _, reader := range readers[1:] {
		if err := t.held(t.c); err != nil {
			return fmt.Errorf("by %+v, after the unlock of another reader: %w", reader.Grant(), err)
		}
		if err := t.unlock(reader); err != nil {
			return fmt.Errorf("after the unlock of another reader: %w", err)
		}
	}
	return nil
}

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

func livingReader(t *trial) error { return t.outlasts(t.rlock) }
