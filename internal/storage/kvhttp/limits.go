package kvhttp

import (
	"cmp"

	"github.com/fencelab/fencelab/internal/storage/kv"
)

// Limits are what a client may have. 0 means the default.
type Limits struct {
	Body   int64 // bytes of a request's body
	Key    int64 // bytes of a key
	Value  int64 // bytes of a value; by default what fits a body
	Memory int64 // bytes of bodies and of answers that are under way, of all clients
	Rate   int64 // requests a second of one client, in the long run; 0: any number

	Connections int64 // that are open at a time; LimitConnections holds this one and the next
	PerClient   int64 // of these, from one address; by default three quarters, so that no one can take all
}

// The defaults.
const (
	DefaultMaxBody        = 1 << 20
	DefaultMaxKey         = 4 << 10
	DefaultMaxMemory      = 64 << 20
	DefaultMaxConnections = 20_000
)

func (l Limits) withDefaults() Limits {
	l.Body = cmp.Or(l.Body, DefaultMaxBody)
	l.Key = cmp.Or(l.Key, DefaultMaxKey)
	l.Value = cmp.Or(l.Value, l.Body)
	l.Memory = cmp.Or(l.Memory, DefaultMaxMemory)
	l.Connections = cmp.Or(l.Connections, DefaultMaxConnections)
	l.PerClient = cmp.Or(l.PerClient, (3*l.Connections+3)/4)
	return l
}

// key refuses what is too long, or no key.
func (l *Limits) key(key string) error {
	if key == "" {
		return badRequest("the key is empty")
	}
	if int64(len(key)) > l.Key {
		return &kv.LimitError{Limit: kv.LimitKey, Max: l.Key}
	}
	return nil
}

func (l *Limits) value(n int) error {
	if int64(n) > l.Value {
		return &kv.LimitError{Limit: kv.LimitValue, Max: l.Value}
	}
	return nil
}
