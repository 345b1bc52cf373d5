package fenceetcd

import (
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/fencelab/fencelab/pkg/fence"
)

// What etcd says of a Txn before it proposes it to the members, or before it
// applies anything of it.
//
// Not among them: ErrNoSpace, because a member that finds out while it applies a
// Txn goes on and then says so (etcd issue 16659; apply/quota.go), and
// ErrLeaseNotFound (issue 12900).
var definite = []error{
	rpctypes.ErrEmptyKey,
	rpctypes.ErrValueProvided,
	rpctypes.ErrLeaseProvided,
	rpctypes.ErrTooManyOps,
	rpctypes.ErrDuplicateKey,
	rpctypes.ErrInvalidSortOption,
	rpctypes.ErrRequestTooLarge,
	rpctypes.ErrTooManyRequests,
	rpctypes.ErrUserEmpty,
	rpctypes.ErrAuthFailed,
	rpctypes.ErrInvalidAuthToken,
	rpctypes.ErrPermissionDenied,
}

// What package fence says without doing anything.
var refusals = []error{
	fence.ErrStale, fence.ErrDuplicate,
	fence.ErrNoToken, fence.ErrInvalidToken, fence.ErrInvalidSequence, fence.ErrInvalidMode, fence.ErrInvalidScope,
	fence.ErrAhead, fence.ErrNoBound,
}

// Definite reports whether an error of Do leaves no doubt that this call's ops
// did not and will not take place; with fence.ErrDuplicate an earlier one's did.
// Every other error is indefinite: a deadline, a connection that broke, a leader
// that changed, and also etcd's "database space exceeded". The ops may have taken
// place, or may still.
func Definite(err error) bool {
	for _, list := range [][]error{refusals, definite} {
		for _, target := range list {
			if errors.Is(err, target) {
				return true
			}
		}
	}
	// The client's own limit, of 2 MiB by default. That of an answer which is too
	// large has the same code, but other words.
	return status.Code(err) == codes.ResourceExhausted && strings.Contains(err.Error(), "trying to send message larger than max")
}

// failed says what is known after etcd's error.
func failed(what string, err error) error {
	if Definite(err) {
		return fence.Definite.Wrap(fmt.Errorf("fenceetcd: %s: nothing was done: %w", what, err))
	}
	return fence.Unknown.Wrap(fmt.Errorf("fenceetcd: %s: outcome unknown: %w", what, err))
}
