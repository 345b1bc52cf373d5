package kv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencebolt"
)

// Bolt is the durable engine on one machine: a bbolt file. Value, mark and sequence go in one transaction,
// and an operation returns only when it has been synced to the disk. Writers that come while a transaction is
// under way share the next one, and its sync.
type Bolt struct {
	account account // in the order of the transactions
	db      *boltFile
	changes chan *change
	stop    chan struct{} // closed by Close
	commits sync.WaitGroup
	failed  atomic.Bool  // the last transaction
	needed  atomic.Int64 // bytes of the last commit that failed
}

// change is an operation that needs a transaction that writes.
type change struct {
	req  Request
	ops  []Op
	read bool // of ops[0].Key; ops then has OpRead
	item Item
	err  error
	done chan struct{}
}

const boltName = "fencelab.db"

// maxShared is how many operations share a transaction at the most.
const maxShared = 1024

// OpenBolt opens the engine's file in dir, which it makes if it is missing. A
// file that is no database of this format is left as it is, and an error.
func OpenBolt(dir string, o Options) (*Bolt, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the directory of the data: %w", err)
	}
	db, err := openBoltFile(filepath.Join(dir, boltName))
	if err != nil {
		return nil, err
	}
	if err := checkFormat(db); err != nil {
		return nil, errors.Join(refusedFile(db.path, err), db.Close())
	}
	b := &Bolt{account: account{Options: o}, db: db, changes: make(chan *change), stop: make(chan struct{})}
	b.commits.Go(b.commitAll)
	return b, nil
}

// Close lets the transaction under way come to its end and closes the file. It must not be called twice.
func (b *Bolt) Close() error {
	close(b.stop)
	b.commits.Wait()
	return b.db.Close()
}

// Write implements Engine. What bbolt cannot hold is refused before it could spoil a transaction that others share.
func (b *Bolt) Write(ctx context.Context, req Request, ops ...Op) error {
	for _, op := range ops {
		if len(op.Key) > bbolt.MaxKeySize {
			return &LimitError{Limit: LimitKey, Max: bbolt.MaxKeySize, Say: "the engine bolt can have no longer one"}
		}
	}
	return b.change(ctx, &change{req: req, ops: ops})
}

// Read implements Engine. One with a token raises the mark and so writes.
func (b *Bolt) Read(ctx context.Context, req Request, key string) (Item, error) {
	req.Sequence = 0 // as for Memory
	c := &change{req: req, ops: []Op{{Kind: OpRead, Key: key}}, read: true}
	if req.Token != 0 && !b.account.Unfenced {
		err := b.change(ctx, c)
		return c.item, err
	}
	defer b.account.ordered()()
	err := b.db.View(c.look)
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Item{}, err
	}
	b.account.tell(c.req, c.ops, err)
	return c.item, err
}

func (b *Bolt) Mark(_ context.Context, scope string) (fence.Mark, error) {
	return view(b, func(tx *bbolt.Tx) (fence.Mark, error) { return fencebolt.Mark(tx, scope) })
}

// view is what look finds in a transaction that reads.
func view[T any](b *Bolt, look func(*bbolt.Tx) (T, error)) (found T, err error) {
	err = b.db.View(func(tx *bbolt.Tx) error {
		found, err = look(tx)
		return err
	})
	return found, err
}

// change has a change done by commitAll. Once it is taken on, it is waited for
// whatever ctx says: giving up would leave its outcome unknown.
func (b *Bolt) change(ctx context.Context, c *change) error {
	if err := b.account.checkBound(b.Mark, c.req.Claim); err != nil {
		defer b.account.ordered()()
		b.account.tell(c.req, c.ops, err)
		return err
	}
	c.done = make(chan struct{})
	select {
	case b.changes <- c:
		<-c.done
		return c.err
	case <-b.stop:
		return ErrClosed
	case <-ctx.Done():
		return fence.Definite.Wrap(ctx.Err())
	}
}

// commitAll takes what has come, does it in one transaction, and begins anew.
func (b *Bolt) commitAll() {
	for {
		var batch []*change
		select {
		case c := <-b.changes:
			batch = append(batch, c)
		case <-b.stop:
			return
		}
		for more := true; more && len(batch) < maxShared; {
			select {
			case c := <-b.changes:
				batch = append(batch, c)
			default:
				more = false
			}
		}
		b.commit(batch)
	}
}

// commit does a batch in one transaction. What is refused leaves the transaction as it was. A change that fails is
// taken out and the others are done without it; they are all undone where the transaction cannot be made durable.
func (b *Bolt) commit(batch []*change) {
	defer b.account.ordered()()
	for len(batch) > 0 {
		failed, changed := -1, false
		err := b.update(len(batch), func(tx *bbolt.Tx) error {
			for i, c := range batch {
				c.err = guard(func() error { return b.do(tx, c) })
				if c.err != nil && !judged(c.err) {
					failed = i
					return c.err
				}
				changed = changed || c.err == nil || errors.Is(c.err, ErrNotFound)
			}
			if !changed {
				return errUnchanged
			}
			return nil
		})
		if errors.Is(err, errUnchanged) {
			err = nil
		}
		if failed < 0 {
			if err != nil {
				b.needed.Store(sizeOf(batch))
			}
			b.end(batch, err)
			return
		}
		batch[failed].err = err
		close(batch[failed].done)
		batch = slices.Delete(batch, failed, failed+1)
	}
}

// probeSize is how much room there must be, in bytes, before the engine is ready
// again: more than a few pages that happen to be free in the file.
const probeSize = 64 << 10

// sizeOf is how many bytes a batch writes, for a rough idea.
func sizeOf(batch []*change) (n int64) {
	for _, c := range batch {
		for _, op := range c.ops {
			n += int64(len(op.Key) + len(op.Value))
		}
	}
	return n
}

// errUnchanged ends a transaction in which all was refused: there is nothing to sync.
var errUnchanged = errors.New("nothing was changed")

// end tells those who wait what became of their transaction.
func (b *Bolt) end(batch []*change, err error) {
	for _, c := range batch {
		if err != nil {
			c.err = err
		} else {
			b.account.tell(c.req, c.ops, c.err)
		}
		close(c.done)
	}
}

// update runs one transaction that writes. What do returns undoes it, and is no failure of the disk.
func (b *Bolt) update(operations int, do func(*bbolt.Tx) error) error {
	start, written := time.Now(), b.db.writeTime()
	err := b.db.Update(do)
	if _, failed := errors.AsType[*CommitError](err); err != nil && !failed {
		return err
	}
	b.failed.Store(err != nil)
	if b.account.Committed != nil {
		b.account.Committed(Commit{Operations: operations, Took: time.Since(start), Sync: max(0, b.db.writeTime()-written), Err: err})
	}
	return err
}

// Ready implements Engine. After a transaction has failed it tries one that is somewhat larger, and leaves
// the room to others: where nobody writes because the engine is not ready, it would else stay so.
func (b *Bolt) Ready(context.Context) error {
	if !b.failed.Load() {
		return nil
	}
	err := b.update(0, func(tx *bbolt.Tx) error {
		return tx.Bucket(metaBucket).Put(metaProbe, make([]byte, probeSize+2*b.needed.Load()))
	})
	if err == nil {
		err = b.update(0, func(tx *bbolt.Tx) error { return tx.Bucket(metaBucket).Delete(metaProbe) })
	}
	if err != nil {
		return fmt.Errorf("the disk of %s: %w", b.db.path, err)
	}
	return nil
}

func (b *Bolt) do(tx *bbolt.Tx, c *change) error {
	if b.account.Unfenced {
		return b.apply(tx, c)
	}
	if err := b.roomForMark(tx, c.req.Claim); err != nil {
		return err
	}
	var result error
	err := fencebolt.Do(tx, c.req.Claim, func() error {
		if result = b.apply(tx, c); errors.Is(result, ErrNotFound) {
			return nil // a read took place, and this is its result
		}
		return result
	})
	return errors.Join(err, result)
}

// roomForMark: a claim needs no mark that would be one too many.
func (b *Bolt) roomForMark(tx *bbolt.Tx, c fence.Claim) error {
	if b.account.MaxMarks <= 0 {
		return nil
	}
	n, err := fencebolt.Len(tx)
	if err != nil || n < b.account.MaxMarks || fencebolt.Has(tx, c.Scope) {
		return err
	}
	m, err := fencebolt.Mark(tx, c.Scope)
	if err != nil {
		return err
	}
	if _, err := m.Admit(c); err != nil {
		return err // which is refused whatever the limit is
	}
	return b.account.tooManyMarks()
}

func (b *Bolt) apply(tx *bbolt.Tx, c *change) error {
	if c.read {
		return c.look(tx)
	}
	items := itemsOf(tx)
	n, err := countsOf(tx)
	if err != nil {
		return err
	}
	known := func(key string) bool { return items.Get([]byte(key)) != nil }
	if err := b.account.room(n.Keys, c.ops, known); err != nil {
		return err
	}
	for _, op := range c.ops {
		if old := items.Get([]byte(op.Key)); old != nil {
			if _, err := checkItem(op.Key, old); err != nil {
				return err // of which the sum of all checksums has another one
			}
			n.count(-1, op.Key, old)
		}
		if op.Kind == OpDelete {
			if err := items.Delete([]byte(op.Key)); err != nil {
				return err
			}
			continue
		}
		v := sealItem(op.Key, Item{Value: op.Value, Token: c.req.Token})
		if err := items.Put([]byte(op.Key), v); err != nil {
			return err
		}
		n.count(1, op.Key, v)
	}
	return n.put(tx)
}

func (c *change) look(tx *bbolt.Tx) (err error) {
	v := itemsOf(tx).Get([]byte(c.ops[0].Key))
	if v == nil {
		return ErrNotFound
	}
	c.item, err = unsealItem(c.ops[0].Key, v)
	c.ops[0].Value = c.item.Value
	return err
}

func (b *Bolt) Floor(context.Context) (fence.Token, error) { return view(b, fencebolt.Floor) }

// Raise implements Engine, in one transaction; writers wait meanwhile.
func (b *Bolt) Raise(_ context.Context, floor fence.Token) (dropped int, err error) {
	err = b.update(1, func(tx *bbolt.Tx) error {
		dropped, err = fencebolt.Raise(tx, floor)
		return err
	})
	return dropped, err
}

func (b *Bolt) Stats(context.Context) (Stats, error) {
	return view(b, func(tx *bbolt.Tx) (Stats, error) {
		n, err := countsOf(tx)
		marks, err2 := fencebolt.Len(tx)
		return Stats{Keys: n.Keys, Bytes: n.Bytes, Marks: int64(marks), Disk: tx.Size()}, errors.Join(err, err2)
	})
}
