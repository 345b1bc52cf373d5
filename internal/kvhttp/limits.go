package kvhttp

import (
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/time/rate"

	"github.com/fencelab/fencelab/internal/kv"
)

// Limits are what a request may have. 0 means the default.
type Limits struct {
	Body   int64 // bytes of a request's body
	Key    int64 // bytes of a key
	Value  int64 // bytes of a value; by default what fits a body
	Memory int64 // bytes of bodies of all clients, while they arrive and are worked on
	Rate   int64 // requests a second of one client, in the long run; 0: any number
}

// The defaults.
const (
	DefaultMaxBody   = 1 << 20
	DefaultMaxKey    = 4 << 10
	DefaultMaxMemory = 64 << 20
)

func (l Limits) withDefaults() Limits {
	if l.Body == 0 {
		l.Body = DefaultMaxBody
	}
	if l.Key == 0 {
		l.Key = DefaultMaxKey
	}
	if l.Value == 0 {
		l.Value = l.Body
	}
	if l.Memory == 0 {
		l.Memory = DefaultMaxMemory
	}
	return l
}

// limits are the names of all limits.
func limits() []string { return slices.Sorted(maps.Keys(limitStatus)) }

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

// rates limits how often each client may come: by its name where it has shown
// one, else by its address.
type rates struct {
	each int64

	mu      sync.Mutex
	clients map[string]*rate.Limiter
}

// maxClients is of how many clients rates keeps an account. When there are more,
// those that have not come for a while are forgotten.
const maxClients = 100_000

func newRates(each int64) *rates {
	if each == 0 {
		return nil
	}
	return &rates{each: each, clients: make(map[string]*rate.Limiter)}
}

// take refuses a call that comes too soon. A client may save up a second's worth.
func (r *rates) take(client string) error {
	if r == nil || r.of(client).Allow() {
		return nil
	}
	return &kv.LimitError{Limit: kv.LimitRate, Max: r.each}
}

func (r *rates) of(client string) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.clients[client]
	if l == nil {
		if len(r.clients) >= maxClients {
			r.forget()
		}
		l = rate.NewLimiter(rate.Limit(r.each), int(r.each))
		r.clients[client] = l
	}
	return l
}

// forget drops the clients that have saved up all they can: they are as new. If
// there are none it drops all, rather than grow.
func (r *rates) forget() {
	for name, l := range r.clients {
		if l.Tokens() >= float64(r.each) {
			delete(r.clients, name)
		}
	}
	if len(r.clients) >= maxClients {
		clear(r.clients)
	}
}

// addressOf is the client's address; of IPv6 the network, of which a client has
// as many addresses as it likes.
func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Unmap().Is4() {
		return host
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return host
	}
	return network.String()
}
