package eslock

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/esdoc"
)

// document is that of a lock.
type document struct {
	Token   fence.Token `json:"token"` // of the last grant
	Holders []holder    `json:"holders"`
}

// holder is one that has the lock, or whose lease may be over.
type holder struct {
	Owner    string      `json:"owner"`
	Token    fence.Token `json:"token"`
	Mode     fence.Mode  `json:"mode"`
	TTL      int64       `json:"ttl_ms"`
	Renewals int64       `json:"renewals"` // so many there were
	Words    string      `json:"words,omitempty"`
}

func (h holder) ttl() time.Duration { return time.Duration(h.TTL) * time.Millisecond }

// find is the place of an owner among the holders; -1: it is none.
func (d *document) find(owner string) int {
	return slices.IndexFunc(d.Holders, func(h holder) bool { return h.Owner == owner })
}

// remove takes an owner off the holders, and reports whether it was one.
func (d *document) remove(owner string) bool {
	i := d.find(owner)
	if i >= 0 {
		d.Holders = slices.Delete(d.Holders, i, i+1)
	}
	return i >= 0
}

// record is a document as it was read, or written.
type record struct {
	esdoc.Version
	document
}

// index has the locks.
type index struct{ *esdoc.Index }

// read reads the document of a lock.
func (x index) read(ctx context.Context, scope string) (r record, err error) {
	if r.Version, err = x.Get(ctx, scope, &r.document); err != nil {
		return record{}, err
	}
	if r.Found && r.Token < 1 {
		return record{}, fence.Definite.New(fmt.Sprintf("the document %q of the index %s is no lock of this package: it has no token", scope, x.Name))
	}
	return r, nil
}

// write writes the document of a lock if it is as it was read.
func (x index) write(ctx context.Context, scope string, read record, now document) (left record, written bool, err error) {
	v, written, err := x.Put(ctx, scope, read.Version, now)
	return record{v, now}, written, err
}

// change changes the document of a lock by edit, which reports whether there is anything to
// change, until nobody else has changed it at the same time. last is the document as the
// caller knows it; it is read anew where it has changed, or where the caller knows of none.
func (x index) change(ctx context.Context, scope string, last record, edit func(*document) bool) (left record, changed bool, err error) {
	for {
		if !last.Found {
			if last, err = x.read(ctx, scope); err != nil {
				return record{}, false, err
			}
		}
		now := document{Token: last.Token, Holders: slices.Clone(last.Holders)}
		if !edit(&now) {
			return last, false, nil
		}
		left, written, err := x.write(ctx, scope, last, now)
		if err != nil || written {
			return left, written, err
		}
		last = record{}
	}
}
