package dynamodb

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/fencelab/fencelab/internal/service/leaseaccount"
	"github.com/fencelab/fencelab/pkg/fence"
)

// table has the locks of all runs, an item for each.
const table = "locks"

// key is the attribute of an item that is the name of its lock. It and most others are called as Amazon's lock client calls
// them.
const key = "key"

// item is what the item of a lock says: nothing, if there is none.
type item struct {
	Owner    attribute `json:"ownerName"`
	Version  attribute `json:"recordVersionNumber"`
	Lease    attribute `json:"leaseDuration"` // in milliseconds, from each change on
	Released attribute `json:"isReleased"`    // "1": the lock is free
	Token    attribute `json:"token"`
	Until    attribute `json:"until"` // in milliseconds since 1970; 0: the lock is free
}

// attribute is a value as DynamoDB says it: text, or a number in decimals. Both are "" where there is none.
type attribute struct{ S, N string }

// itemIn is the item in an answer to GetItem.
func itemIn(answer []byte) (item, error) {
	var got struct{ Item item }
	err := json.Unmarshal(answer, &got)
	return got.Item, err
}

// says is what the item says of the lock from a time on.
func (i item) says(from time.Time) (leaseaccount.Says, error) {
	if i.Owner.S == "" || i.Released.S != "" || i.Until.N == "0" {
		return leaseaccount.Says{}, nil
	}
	says := leaseaccount.Says{Owner: i.Owner.S}
	for _, number := range []struct {
		name, digits string
		take         func(int64)
	}{
		{"token", i.Token.N, func(n int64) { says.Token = fence.Token(n) }},
		{"leaseDuration", i.Lease.S, func(n int64) { says.Until = from.Add(time.Duration(n) * time.Millisecond) }},
		{"until", i.Until.N, func(n int64) { says.Until = time.UnixMilli(n) }},
	} {
		if number.digits == "" {
			continue
		}
		n, err := strconv.ParseInt(number.digits, 10, 64)
		if err != nil {
			return says, fmt.Errorf("%s: %w", number.name, err)
		}
		number.take(n)
	}
	return says, nil
}
