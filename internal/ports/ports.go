// Package ports finds free ports for servers that are stopped for a while and
// must get the same address again.
package ports

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// Ports below those that Linux gives out by itself, so that nothing that asks for
// any port gets the one of a server that is stopped for a while.
const first, end = 10_000, 32_768

// given are those that this process has chosen before: a port that is free for a
// moment may be somebody's all the same.
var given = struct {
	sync.Mutex
	addrs map[string]bool
}{addrs: make(map[string]bool)}

// Free returns n addresses of 127.0.0.1 that nobody listens on, none of them twice
// in the life of this process. Another process may be faster to listen.
func Free(n int) ([]string, error) {
	given.Lock()
	defer given.Unlock()
	var addrs []string
	for range 100 * n {
		addr := fmt.Sprintf("127.0.0.1:%d", first+rand.IntN(end-first))
		if given.addrs[addr] {
			continue
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		if err := l.Close(); err != nil {
			return nil, fmt.Errorf("ports: %w", err)
		}
		given.addrs[addr] = true
		if addrs = append(addrs, addr); len(addrs) == n {
			return addrs, nil
		}
	}
	return nil, fmt.Errorf("ports: %d of %d found free on 127.0.0.1", len(addrs), n)
}
