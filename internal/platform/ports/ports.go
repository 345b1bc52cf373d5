// Package ports finds free ports for servers that are stopped for a while and
// must get the same address again.
package ports

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"syscall"
)

// Ports below those that Linux gives out by itself, so that nothing that asks for any port gets the one of a
// server that is stopped for a while. A process has blocks of them to itself.
const first, end, block = 10_000, 32_768, 64

// mine are the blocks of this process: a port that is free for a moment may be
// somebody's all the same. A block is the process's by a socket in the abstract
// namespace, which ends with the process, and is of the same network as the ports.
var mine struct {
	sync.Mutex
	sockets []net.Listener
	left    []int // ports that were not given yet
}

// claim has another block be this process's.
func claim() error {
	for _, i := range rand.Perm((end - first) / block) {
		from := first + i*block
		socket, err := net.Listen("unix", fmt.Sprintf("@fencelab-ports-%d", from))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return err
		}
		mine.sockets = append(mine.sockets, socket)
		for port := range block {
			mine.left = append(mine.left, from+port)
		}
		return nil
	}
	return fmt.Errorf("all from %d to %d are given", first, end)
}

// Free returns n addresses of 127.0.0.1 that nobody listens on, none of them twice in the life of this
// process, nor by two processes that call Free. Any other process may be faster to listen.
func Free(n int) ([]string, error) {
	mine.Lock()
	defer mine.Unlock()
	var addrs []string
	for len(addrs) < n {
		if len(mine.left) == 0 {
			if err := claim(); err != nil {
				return nil, fmt.Errorf("ports: %d of %d found free on 127.0.0.1: %w", len(addrs), n, err)
			}
		}
		addr := fmt.Sprintf("127.0.0.1:%d", mine.left[0])
		mine.left = mine.left[1:]
		l, err := net.Listen("tcp", addr)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			return nil, fmt.Errorf("ports: %w", err)
		}
		addrs = append(addrs, addr)
	}
	return addrs, nil
}
