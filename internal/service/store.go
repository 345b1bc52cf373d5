package service

import (
	"context"

	"github.com/fencelab/fencelab/internal/history"
)

// Store is a Client whose service is the storage, too: what the lock protects lies where
// the lock is. The service's account then tells of each request in the lane of the storage,
// as history.KindApplied or history.KindRefused and by the ID of the request, in the order
// of the service's own commits.
type Store interface {
	// Under is the data as a client reaches it under a tenure of its own; nil: it has none.
	// within says that the requests are part of the transaction that has the lock: they are
	// done with the tenure's Unlock, or not at all. An error of Do has ended the transaction.
	Under(t Tenure) (of Data, within bool)
}

// Data is what can be asked of a storage.
type Data interface {
	// Do does what ask wants: a read, a write, a delete or a change, all of it or nothing.
	// It adds to ask what a read finds. fence.OutcomeOf says what is known by an error.
	Do(ctx context.Context, ask *history.Event) error
}

// Keeper are the Servers of such a service.
type Keeper interface {
	// Final is what a key holds at the end of a run, if it has a value.
	Final(ctx context.Context, key string) (value string, has bool, err error)
}
