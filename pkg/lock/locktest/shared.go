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
	want := len(readers)
	if t.Reentrant { // the client that reads twice can be one owner
		want--
	}
	if len(owners) < want {
		return fmt.Errorf("%d shared tenures have the owners %v, want %d at least", len(readers), owners, want)
	}
	return t.free(t.b)
}

func readersKeepWriterOut(t *trial) error {
	readers, err := t.readers(t.a, t.b)
	if err != nil {
		return err
	}
	if err := t.held(t.c); err != nil {
		return fmt.Errorf("of readers, to a writer: %w", err)
	}
	another, err := t.tryRLock(t.b)
	if err != nil {
		return fmt.Errorf("to a reader beside readers, after a writer's TryLock failed: %w", err)
	}
	for _, reader := range append(readers, another) {
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
	_, err = t.tryRLock(t.b)
	if err := refusal(err, lock.ErrLocked); err != nil {
		return fmt.Errorf("of TryRLock on a lock that %+v holds: %w", writer.Grant(), err)
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

func readersUnlock(t *trial) error {
	readers, err := t.readers(t.a, t.b, t.a)
	if err != nil {
		return err
	}
	if err := t.unlock(readers[0]); err != nil {
		return err
	}
	if err := refusal(t.unlock(readers[0]), lock.ErrLost); err != nil {
		return fmt.Errorf("of a second unlock of %+v: %w", readers[0].Grant(), err)
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

func tryRLockDoesNotWait(t *trial) error { return t.doesNotWait(t.tryRLock) }

// modesOfOneClient: neither a reader nor a writer is granted the lock in the other mode, however it has it and whoever waits.
func modesOfOneClient(t *trial) error {
	type hold = func() (lock.Tenure, error)
	by := func(take func(Client) (lock.Tenure, error), c Client) hold {
		return func() (lock.Tenure, error) { return take(c) }
	}
	for _, mode := range []struct {
		name  string
		holds []hold
	}{
		{"a reader", []hold{by(t.rlock, t.a)}},
		{"a tryrlock's reader", []hold{by(t.tryRLock, t.a)}},
		{"one who reads twice", []hold{by(t.rlock, t.a), by(t.rlock, t.a)}},
		{"a reader beside another", []hold{by(t.rlock, t.b), by(t.rlock, t.a)}},
		{"a writer", []hold{by(t.lock, t.a)}},
		{"a trylock's writer", []hold{by(t.tryLock, t.a)}},
	} {
		for _, crowded := range []bool{false, true} {
			var held []lock.Tenure
			for _, take := range mode.holds {
				tenure, err := take()
				if err != nil {
					return err
				}
				held = append(held, tenure)
			}
			if err := t.keepsMode(held, crowded); err != nil {
				return fmt.Errorf("%s, with others that wait %v: %w", mode.name, crowded, err)
			}
		}
	}
	return t.readerWaitsInVain()
}

// readerWaitsInVain: a reader does not become a writer, either, where it waits for so long that it asks again.
func (t *trial) readerWaitsInVain() error {
	reader, err := t.rlock(t.a)
	if err != nil {
		return err
	}
	if err := t.waitsInVain(t.a, t.TTL/2, reader); err != nil {
		return fmt.Errorf("a reader who waits as a writer: %w", err)
	}
	return t.unlock(reader)
}

// keepsMode is nil if a, which has the lock, is not granted it in the other mode. Another client may wait meanwhile.
func (t *trial) keepsMode(held []lock.Tenure, crowded bool) error {
	var waiter <-chan outcome
	if crowded {
		waiter = t.background(t.locking(t.c))
	}
	try, wait := t.a.TryLock, t.a.Lock
	if held[0].Grant().Mode == fence.Exclusive {
		try, wait = sharer(t.a).TryRLock, sharer(t.a).RLock
	}
	if other, err := t.take(try, t.scope); err == nil {
		return fmt.Errorf("%+v was granted beside %+v", other.Grant(), held[0].Grant())
	} else if !errors.Is(err, lock.ErrLocked) {
		return fmt.Errorf("of an attempt in the other mode: %w, want ErrLocked", err)
	}
	if other, err := t.within(t.TTL/8, wait, t.scope); err == nil {
		return fmt.Errorf("%+v waited and was granted beside %+v", other.Grant(), held[0].Grant())
	}
	for _, tenure := range held {
		if err := t.held(t.b); err != nil {
			return fmt.Errorf("after attempts in the other mode: %w", err)
		}
		if err := t.unlock(tenure); err != nil {
			return fmt.Errorf("after attempts in the other mode: %w", err)
		}
	}
	if crowded {
		got := <-waiter
		if got.err != nil {
			return got.err
		}
		if err := t.unlock(got.tenure); err != nil {
			return err
		}
	}
	return t.free(t.b)
}

func doneContextOfReader(t *trial) error {
	return t.asksForNothing(map[string]func(context.Context, string) (lock.Tenure, error){
		"RLock": sharer(t.a).RLock, "TryRLock": sharer(t.a).TryRLock,
	})
}

// ownReaderNotOvertaking: the reader that comes after a writer is of the client that reads already.
func ownReaderNotOvertaking(t *trial) error {
	if t.Reentrant { // where it is granted the lock again
		return nil
	}
	return otherwise("a client that reads already", func(t *trial) { t.c = t.a }, writerNotOvertaken)(t)
}

// cancelledWriter: one who reads keeps the lock, and others read beside.
func cancelledWriter(t *trial) error {
	reader, err := t.rlock(t.a)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.TTL/4)
	defer cancel()
	if writer, err := t.b.Lock(ctx, t.scope); err == nil {
		return fmt.Errorf("%+v was granted while %+v was current", writer.Grant(), reader.Grant())
	}
	other, err := t.tryRLock(t.c)
	if err != nil {
		return fmt.Errorf("to a reader beside a reader, after a writer's wait ended: %w", err)
	}
	return errors.Join(t.unlock(other), t.unlock(reader))
}

func modesRace(t *trial) error { return modesApart(t.raceOfModes()) }

// manyModesRace: many clients, of which each second one reads.
func manyModesRace(t *trial) error {
	return modesApart(t.contend(func(i int, c Client) taking {
		if i%2 == 0 {
			return t.reading(c)
		}
		return t.locking(c)
	}))
}

func modesApart(begins, spans []span, err error) error {
	if err != nil {
		return err
	}
	return errors.Join(apart(begins, spans), oneEach(begins))
}

func modesTokensRace(t *trial) error {
	_, spans, err := t.raceOfModes()
	if err != nil {
		return err
	}
	return t.inTurn(spans)
}

func (t *trial) raceOfModes() (begins, spans []span, err error) {
	second := t.b
	if t.Reentrant { // a client that reads already is granted the lock again, as the same owner
		second = t.c
	}
	return t.race(rounds, t.reading(t.a), t.reading(t.b), t.reading(second), t.locking(t.c), t.locking(t.a))
}
