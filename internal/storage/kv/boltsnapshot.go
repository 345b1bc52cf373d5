package kv

import (
	"context"
	"fmt"
	"iter"

	"go.etcd.io/bbolt"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencebolt"
)

// Snapshot implements Engine. Writers go on meanwhile; the file grows, because
// what they replace cannot be reused until the snapshot is over.
func (b *Bolt) Snapshot(_ context.Context, visit func(Entry) error) error {
	return b.db.View(func(tx *bbolt.Tx) error {
		floor, err := fencebolt.Floor(tx)
		if err != nil {
			return err
		}
		if err := visitFloor(floor, visit); err != nil {
			return err
		}
		err = fencebolt.ForEach(tx, func(scope string, m fence.Mark) error { return visitMark(scope, m, floor, visit) })
		if err != nil {
			return err
		}
		return itemsOf(tx).ForEach(func(k, v []byte) error {
			item, err := unsealItem(string(k), v)
			if err != nil {
				return err
			}
			return visit(itemEntry(string(k), item))
		})
	})
}

// Restore implements Restorer, in one transaction, which is kept in memory until its end.
func (b *Bolt) Restore(_ context.Context, entries iter.Seq2[Entry, error]) error {
	err := b.db.Update(func(tx *bbolt.Tx) error {
		if err := tx.DeleteBucket(boltItems); err != nil {
			return err
		}
		items, err := tx.CreateBucket(boltItems)
		if err != nil {
			return err
		}
		var n counts
		for e, err := range entries {
			if err != nil {
				return err
			}
			name := string(e.Name)
			switch e.Kind {
			case EntryFloor:
				_, err = fencebolt.Raise(tx, e.Token)
			case EntryMark:
				err = fencebolt.RaiseMark(tx, name, fence.Mark{Token: e.Token, Sequence: e.Sequence})
			case EntryShared:
				err = fencebolt.RaiseMark(tx, name, fence.Mark{Shared: e.Token})
			case EntryItem:
				v := sealItem(name, Item{Value: string(e.Value), Token: e.Token})
				n.count(1, name, v)
				err = items.Put(e.Name, v)
			}
			if err != nil {
				return fmt.Errorf("%s %q: %w", e.Kind, name, err)
			}
		}
		return n.put(tx)
	})
	switch {
	case fence.OutcomeOf(err) < fence.Lost:
		return fmt.Errorf("restored or not, do it again: %w", err)
	case err != nil:
		return fmt.Errorf("nothing was changed: %w", err)
	}
	return nil
}
