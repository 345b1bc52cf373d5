package ports_test

import (
	"net"
	"testing"

	"github.com/fencelab/fencelab/internal/ports"
)

// TestFree: each can be listened on, none comes twice, and none is one that the
// kernel gives to whoever asks for any.
func TestFree(t *testing.T) {
	seen := make(map[string]bool)
	for range 20 {
		addrs, err := ports.Free(3)
		if err != nil || len(addrs) != 3 {
			t.Fatal(addrs, err)
		}
		for _, addr := range addrs {
			if seen[addr] {
				t.Errorf("%s came twice", addr)
			}
			seen[addr] = true
			l, err := net.Listen("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			if port := l.Addr().(*net.TCPAddr).Port; port >= 32_768 {
				t.Errorf("port %d is an ephemeral one", port)
			}
			l.Close()
		}
	}
}
