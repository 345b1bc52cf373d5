package kvhttp

import (
	"cmp"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"
	"k8s.io/utils/lru"

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

// The limits of a storage that is told no others.
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

// rates limits how often each client may come.
type rates struct {
	each int64

	mu      sync.Mutex
	clients *lru.Cache // of a *rate.Limiter, by client: those that came last
}

// client is who a rate is counted for: a principal by its name, others by their address.
type client struct{ name, address string }

func (c client) String() string { return cmp.Or(c.name, c.address) }

// maxClients is of how many clients an account is kept.
const maxClients = 100_000

func newRates(each int64) *rates {
	if each == 0 {
		return nil
	}
	return &rates{each: each, clients: lru.New(maxClients)}
}

// take refuses a call that comes too soon. A client may save up a second's worth.
func (r *rates) take(who client) error {
	if r == nil || r.limiter(who).Allow() {
		return nil
	}
	return &kv.LimitError{Limit: kv.LimitRate, Max: r.each}
}

func (r *rates) limiter(who client) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l, ok := r.clients.Get(who); ok {
		return l.(*rate.Limiter)
	}
	l := rate.NewLimiter(rate.Limit(r.each), int(r.each))
	r.clients.Add(who, l)
	return l
}

// network is the address in addr, without its port; of IPv6 the network of 64 bits, in which a client has as
// many addresses as it likes.
func network(addr string) string {
	from, err := netip.ParseAddrPort(addr)
	if err != nil {
		return addr
	}
	ip := from.Addr().Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, 64).Masked().String()
}
