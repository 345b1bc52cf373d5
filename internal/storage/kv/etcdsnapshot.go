package kv

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceetcd"
)

// etcdPage is how many keys are read or written at a time, and etcdPageBytes how
// many bytes are written: below etcd's limits for a request.
const (
	etcdPage      = 100
	etcdPageBytes = 512 << 10
)

// Snapshot implements Engine: all of one revision. Where etcd compacts that
// revision meanwhile, it ends with an error.
func (e *Etcd) Snapshot(ctx context.Context, visit func(Entry) error) error {
	resp, err := e.kv.Get(ctx, fenceetcd.FloorKey)
	if err != nil {
		return unavailable(err)
	}
	at := resp.Header.Revision
	var floor fence.Token
	for _, kv := range resp.Kvs { // one, or none
		m, err := fenceetcd.Decode(kv)
		if err != nil {
			return err
		}
		floor = m.Token
	}
	if err := visitFloor(floor, visit); err != nil {
		return err
	}
	for _, prefix := range []string{fenceetcd.Prefix, fenceetcd.SharedPrefix} {
		err := e.each(ctx, prefix, at, func(scope string, kv *mvccpb.KeyValue) error {
			m, err := fenceetcd.Decode(kv)
			if err != nil {
				return err
			}
			return visitMark(scope, m, floor, visit) // those below are about to be dropped
		})
		if err != nil {
			return err
		}
	}
	return e.each(ctx, etcdItems, at, func(key string, kv *mvccpb.KeyValue) error {
		item, err := decodeItem(key, kv.Value)
		if err != nil {
			return err
		}
		return visit(itemEntry(key, item))
	})
}

// each calls visit for every key below prefix as it was at a revision.
func (e *Etcd) each(ctx context.Context, prefix string, at int64, visit func(name string, kv *mvccpb.KeyValue) error) error {
	end := clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix))
	for next := prefix; ; {
		resp, err := e.kv.Get(ctx, next, end, clientv3.WithLimit(etcdPage), clientv3.WithRev(at))
		if err != nil {
			return unavailable(err)
		}
		for _, kv := range resp.Kvs {
			if err := visit(strings.TrimPrefix(string(kv.Key), prefix), kv); err != nil {
				return err
			}
			next = string(kv.Key) + "\x00"
		}
		if !resp.More {
			return nil
		}
	}
}

// ErrNotEmpty: a snapshot is restored to etcd only where nothing is, because it takes more than one Txn.
var ErrNotEmpty = errors.New("there are values or marks already")

// Restore implements Restorer, into an empty prefix, marks before values. Only an
// error of etcd can leave it half done.
func (e *Etcd) Restore(ctx context.Context, entries iter.Seq2[Entry, error]) error {
	n, err := e.Stats(ctx)
	if err != nil {
		return err
	}
	floor, err := e.Floor(ctx)
	if err != nil {
		return err
	}
	if n.Keys+n.Marks > 0 || floor != 0 {
		return fmt.Errorf("%w: %d keys, %d marks, floor %d; restore to another prefix, or delete what is there first", ErrNotEmpty, n.Keys, n.Marks, floor)
	}
	var all []Entry // before the first is written: the last line tells whether they are whole
	for entry, err := range entries {
		if err != nil {
			return err
		}
		all = append(all, entry)
	}
	if err := e.restore(ctx, all); err != nil {
		return fmt.Errorf("restored in part; delete what is below the prefix, and try again: %w", err)
	}
	return nil
}

func (e *Etcd) restore(ctx context.Context, all []Entry) error {
	var puts []clientv3.Op
	size := 0
	flush := func() error {
		_, err := e.kv.Txn(ctx).Then(puts...).Commit()
		puts, size = nil, 0
		return err
	}
	for _, entry := range all {
		switch entry.Kind {
		case EntryFloor:
			if _, err := fenceetcd.Raise(ctx, e.kv, entry.Token); err != nil {
				return err
			}
		case EntryMark, EntryShared:
			c := fence.Claim{Scope: string(entry.Name), Token: entry.Token, Sequence: entry.Sequence}
			if entry.Kind == EntryShared {
				c.Mode = fence.Shared
			}
			// One below the floor says nothing.
			if _, err := fenceetcd.Do(ctx, e.kv, c); err != nil && !errors.Is(err, fence.ErrStale) {
				return err
			}
		case EntryItem:
			v := encodeItem(Item{Value: string(entry.Value), Token: entry.Token})
			if size += len(entry.Name) + len(v); len(puts) == etcdPage || size > etcdPageBytes && len(puts) > 0 {
				if err := flush(); err != nil {
					return err
				}
			}
			puts = append(puts, clientv3.OpPut(etcdItems+string(entry.Name), string(v)))
		}
	}
	if len(puts) == 0 {
		return nil
	}
	return flush()
}
