package kvhttp

import (
	"cmp"
	"net"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"

	"github.com/fencelab/fencelab/internal/storage/kv"
)

// rates limits how often each client may come.
type rates struct {
	each int64

	mu sync.Mutex
	// Who comes is put among the recent. When these are many they become the
	// former, and who is only among the former is forgotten: all at once, so that
	// strangers who come only once do not make each other expensive.
	recent, former map[client]*rate.Limiter
}

// client is who a rate is counted for: a principal by its name, others by their
// address.
type client struct{ name, address string }

// String names the client for a log.
func (c client) String() string { return cmp.Or(c.name, c.address) }

// maxRecent is how many clients are recent; of up to twice as many an account is
// kept.
const maxRecent = 50_000

func newRates(each int64) *rates {
	if each == 0 {
		return nil
	}
	return &rates{each: each, recent: make(map[client]*rate.Limiter)}
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
	if l := r.recent[who]; l != nil {
		return l
	}
	if len(r.recent) >= maxRecent {
		r.recent, r.former = make(map[client]*rate.Limiter), r.recent
	}
	l := r.former[who]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(r.each), int(r.each))
	}
	r.recent[who] = l
	return l
}

// network is the address in addr, without its port; of IPv6 the network of 64
// bits, in which a client has as many addresses as it likes.
func network(addr string) string {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return addr
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		return ip.String()
	}
	prefix, err := ip.Prefix(64)
	if err != nil {
		return host
	}
	return prefix.String()
}
