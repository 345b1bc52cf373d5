package redis

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

// How keys say who holds a lock. A string at the lock's name holds the owner, as most
// recipes have it; a hash has a field for each owner, as Redisson has it.
const (
	fieldMode   = "mode" // of a hash of Redisson's: who shares the lock with others
	modeRead    = "read"
	writerField = ":write" // what follows the owner in the field of a writer
)

// counterOf is the key of a lock's counter of tokens. The lock's name is the hash tag, so
// that both keys are in one slot of a cluster.
func counterOf(lock string) string { return "fencelab_token:{" + lock + "}" }

// counters are all keys in which a lock's tokens can be counted.
func counters(lock string) []string {
	return []string{counterOf(lock), "redisson_lock_token:{" + lock + "}"}
}

// watched are the keys of a lock that the account is made of.
func watched(lock string) []string { return append([]string{lock}, counters(lock)...) }

// holding is how an owner holds a lock.
type holding struct {
	mode  fence.Mode
	until time.Time // when its key expires; zero: never
}

// holders are those who hold a lock, by their keys.
func (d database) holders(lock string) map[string]holding {
	held := make(map[string]holding)
	v := d[lock]
	switch {
	case v == nil:
	case v.fields == nil:
		held[v.text] = holding{until: v.until}
	default:
		for field := range v.fields {
			h := holding{until: v.until}
			if v.fields[fieldMode] == modeRead {
				h.mode = fence.Shared
			}
			if field != fieldMode {
				held[strings.TrimSuffix(field, writerField)] = h
			}
		}
	}
	return held
}

// counted is the token that a transaction has counted for a lock; 0: none.
func counted(lock string, before, now database) fence.Token {
	i := slices.IndexFunc(counters(lock), func(key string) bool { return now.text(key) != before.text(key) })
	if i < 0 {
		return 0
	}
	n, _ := strconv.ParseUint(now.text(counters(lock)[i]), 10, 63)
	return fence.Token(n)
}

func (d database) text(key string) string {
	if v := d[key]; v != nil {
		return v.text
	}
	return ""
}
