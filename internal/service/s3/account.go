package s3

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/leaseaccount"
	"github.com/fencelab/fencelab/pkg/fence"
)

// account is the lock service's own account of tenures, by what the server tells of the objects.
type account struct {
	*leaseaccount.Account
	locks []string
}

func newAccount(stage service.Stage) *account {
	return &account{leaseaccount.New(stage, Name), stage.Plan().Locks}
}

// content is what the object of a lock says.
type content struct {
	Owner string      `json:"owner"` // "": the lock is free
	Token fence.Token `json:"token"`
	Until time.Time   `json:"until"` // the end of the lease
	Lease int64       `json:"lease"` // or how long it lasts, in milliseconds
}

// line takes in a change of an object.
func (a *account) line(text []byte) error {
	var change struct {
		At   int64  `json:"at"` // in nanoseconds since 1970
		Key  string `json:"key"`
		Body string `json:"body"` // "": it was deleted
	}
	if err := json.Unmarshal(text, &change); err != nil || change.At == 0 {
		return errors.Join(errors.New("want a change of an object, with its time"), err)
	}
	i := slices.IndexFunc(a.locks, func(lock string) bool { return strings.TrimPrefix(lock, "/") == change.Key })
	if i < 0 {
		return fmt.Errorf("%q is the object of none of the run's locks", change.Key)
	}
	at := time.Unix(0, change.At)
	if change.Body == "" {
		a.See(a.locks[i], at, leaseaccount.Says{}, "its object was deleted")
		return nil
	}
	var says content
	if err := json.Unmarshal([]byte(change.Body), &says); err != nil {
		return fmt.Errorf("the object of %s says %q: %w", a.locks[i], change.Body, err)
	}
	if says.Lease > 0 {
		says.Until = at.Add(time.Duration(says.Lease) * time.Millisecond)
	}
	a.See(a.locks[i], at, leaseaccount.Says{Owner: says.Owner, Token: says.Token, Until: says.Until}, "its object was overwritten")
	return nil
}
