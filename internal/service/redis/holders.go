package redis

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
)

// How keys say who holds a lock. A string at the lock's name holds the owner, as most
// recipes have it; a hash has a field for each owner, as Redisson has it.
const (
	fieldMode = "mode" // of a hash of Redisson's: who shares the lock with others
	modeRead  = "read"
)

// counterOf is the key of a lock's counter of tokens. The lock's name is the hash tag, so
// that both keys are in one slot of a cluster.
func counterOf(lock string) string { return "fencelab_token:{" + lock + "}" }

// keysOf are the keys that can say who holds a lock.
func keysOf(lock string) []string { return []string{lock, libraryKey(lock)} }

// libraryKey is that of package redislock.
func libraryKey(lock string) string {
	return "lock:{" + strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(lock) + "}"
}

// counter is where the tokens of a lock are counted: in a string, or a field of a hash.
type counter struct{ key, field string }

// counters are all that there can be.
func counters(lock string) []counter {
	return []counter{{counterOf(lock), ""}, {"redisson_lock_token:{" + lock + "}", ""}, {libraryKey(lock) + ":grants", "token"}}
}

// watched are the keys of a lock that the account is made of.
func watched(lock string) []string {
	keys := keysOf(lock)
	for _, c := range counters(lock) {
		keys = append(keys, c.key)
	}
	return keys
}

type holding struct {
	mode  fence.Mode
	until time.Time // when its key expires; zero: never
}

func (d database) holders(lock string) map[string]holding {
	held := make(map[string]holding)
	for _, key := range keysOf(lock) {
		switch v := d[key]; {
		case v == nil:
		case v.fields == nil:
			held[v.text] = holding{until: v.until}
		default:
			maps.Copy(held, v.owners())
		}
	}
	return held
}

// owners are those who hold the lock that is a hash.
func (v *value) owners() map[string]holding {
	held := make(map[string]holding)
	h := holding{until: v.until}
	if v.fields[fieldMode] == modeRead {
		h.mode = fence.Shared
	}
	for field := range v.fields {
		if field != fieldMode {
			held[field] = h
		}
	}
	return held
}

// counted is the token that a transaction has counted for a lock; 0: none.
func counted(lock string, before, now database) fence.Token {
	for _, c := range counters(lock) {
		if text := now.text(c.key, c.field); text != before.text(c.key, c.field) {
			n, _ := strconv.ParseUint(text, 10, 63) // where it is gone it is 0
			return fence.Token(n)
		}
	}
	return 0
}

// text is what a string holds, or a field of a hash.
func (d database) text(key, field string) string {
	v := d[key]
	switch {
	case v == nil:
		return ""
	case field != "":
		return v.fields[field]
	}
	return v.text
}
