package storagecmd

import "runtime"

// heapRoom is how much garbage may lie about before it is collected, at the least,
// in bytes.
const heapRoom = 32 << 20

// roomyHeap keeps the collector from running for every few MiB: a storage with
// little data would be collected many times a second, at the cost of each request.
// The memory that it sets aside is never touched, so it is only reckoned with; the
// garbage that it allows for is. It returns how to end that.
func roomyHeap() (end func()) {
	room := make([]byte, heapRoom)
	return func() { runtime.KeepAlive(room) }
}
