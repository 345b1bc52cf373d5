package ports_test

import (
	"bufio"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/ports"
)

// many are so many that two who choose by chance choose some alike.
const many = 400

// The test binary is another process that has ports, until its standard input ends.
func TestMain(m *testing.M) {
	if os.Getenv("FENCELAB_TEST_PORTS") == "" {
		os.Exit(m.Run())
	}
	addrs, err := ports.Free(many)
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString(strings.Join(addrs, " ") + "\n")
	bufio.NewReader(os.Stdin).ReadByte()
}

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

// TestOthers: two processes have no port in common.
func TestOthers(t *testing.T) {
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), "FENCELAB_TEST_PORTS=1")
	in, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := other.Wait(); err != nil {
			t.Error(err)
		}
	})
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	theirs := make(map[string]bool)
	for _, addr := range strings.Fields(said) {
		theirs[addr] = true
	}
	addrs, err := ports.Free(many)
	if err != nil || len(theirs) != many {
		t.Fatal(len(theirs), err)
	}
	for _, addr := range addrs {
		if theirs[addr] {
			t.Errorf("%s is another process's", addr)
		}
	}
}
