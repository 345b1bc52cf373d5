package kvtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence"
)

// Failing is an engine that returns Err, whatever it is asked but to close.
type Failing struct {
	kv.Engine
	Err error
}

func (f Failing) Write(context.Context, kv.Request, ...kv.Op) error         { return f.Err }
func (f Failing) Read(context.Context, kv.Request, string) (kv.Item, error) { return kv.Item{}, f.Err }
func (f Failing) Mark(context.Context, string) (fence.Mark, error)          { return fence.Mark{}, f.Err }
func (f Failing) Floor(context.Context) (fence.Token, error)                { return 0, f.Err }
func (f Failing) Raise(context.Context, fence.Token) (int, error)           { return 0, f.Err }
func (f Failing) Snapshot(context.Context, func(kv.Entry) error) error      { return f.Err }
func (f Failing) Ready(context.Context) error                               { return f.Err }
func (f Failing) Stats(context.Context) (kv.Stats, error)                   { return kv.Stats{}, f.Err }

// Fault is an error of an engine. Unknown: what was asked may have been done, or may be done yet.
type Fault struct {
	Err     error
	Unknown bool
}

// Faults are the errors that engines return, errors that say nothing of their outcome, and
// errors of each outcome; each as it is, wrapped, and joined with one that says nothing.
func Faults() (all []Fault) {
	reset := &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	known := []error{
		kv.ErrNotFound, kv.ErrClosed, &kv.CommitError{Err: syscall.ENOSPC},
		fence.Definite.Wrap(fmt.Errorf("%w: %w", kv.ErrUnavailable, reset)),
		fence.ErrDuplicate, fence.ErrNoBound, fence.ErrNoToken, fence.ErrInvalidToken, fence.ErrInvalidSequence, fence.ErrInvalidMode, fence.ErrInvalidScope,
		&fence.StaleError{Scope: "/lock", Token: 1, Mark: 2}, &fence.AheadError{Scope: "/lock", Token: 3, Bound: 2},
		fence.Definite.Wrap(reset), fence.Lost.New("lost"),
	}
	for _, limit := range []string{
		kv.LimitBody, kv.LimitKey, kv.LimitValue, kv.LimitOps, kv.LimitKeys, kv.LimitMarks, kv.LimitMemory, kv.LimitSnapshots, kv.LimitConnections, kv.LimitRate,
	} {
		known = append(known, &kv.LimitError{Limit: limit, Max: 1})
	}
	unknown := []error{
		&kv.CommitError{Err: syscall.EIO, Unknown: true},
		fmt.Errorf("%w: %w", kv.ErrUnavailable, reset), fmt.Errorf("%w: %w", kv.ErrDisk, reset),
		reset, io.ErrUnexpectedEOF, context.DeadlineExceeded, context.Canceled,
		fence.Unknown.New("unknown"), fence.CutOff.New("cut off"),
		fence.Unknown.Wrap(kv.ErrClosed), fence.Unknown.Wrap(kv.ErrNotFound), fence.Unknown.Wrap(&kv.LimitError{Limit: kv.LimitKeys, Max: 1}),
		fence.Unknown.Wrap(&fence.StaleError{Scope: "/lock", Token: 1, Mark: 2}), fence.Unknown.Wrap(fence.ErrDuplicate), errors.Join(fence.Definite.New("a part was not done"), fence.Unknown.New("another may have been")),
	}
	for i, err := range append(known, unknown...) {
		for _, err := range []error{err, fmt.Errorf("the engine: %w", err), errors.Join(errors.New("close it"), err)} {
			all = append(all, Fault{err, i >= len(known)})
		}
	}
	return all
}
