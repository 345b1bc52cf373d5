package e2e

import (
	"syscall"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/platform/ports"
)

// site is a storage process that keeps its address when it is started again, and
// the network in front of it.
type site struct {
	w       *world
	args    []string
	addr    string // of the storage
	url     string // of the network in front of it, for clients
	process *process

	front *network.Link
}

func newSite(w *world, args ...string) *site {
	w.t.Helper()
	s := &site{w: w, addr: fixedAddress(w.t), args: args}
	s.start()
	var err error
	if s.front, err = network.New(s.addr); err != nil {
		w.t.Fatal(err)
	}
	s.url = "http://" + s.front.Addr()
	w.t.Cleanup(s.front.Close)
	return s
}

// fixedAddress is one that nobody listens on, and that can be listened on again and
// again.
func fixedAddress(t *testing.T) string {
	t.Helper()
	addrs, err := ports.Free(1)
	if err != nil {
		t.Fatal(err)
	}
	return addrs[0]
}

func (s *site) start() {
	s.w.t.Helper()
	s.process, _ = s.w.storage(append([]string{"--listen", s.addr}, s.args...)...)
}

// crashes: the storage dies by kill -9, is away for a while, and comes back.
var crashes = []fault{{"kill -9", func(r *trial, s *site) {
	s.process.signal(syscall.SIGKILL)
	s.process.want(-1)
	r.await(20)
	s.start()
}}}

// pauses: the storage stands still, until clients have given up, and goes on.
var pauses = []fault{{"SIGSTOP", func(r *trial, s *site) {
	s.process.signal(syscall.SIGSTOP)
	for pid := s.process.cmd.Process.Pid; state(r.T, pid) != "T"; {
		if r.ctx.Err() != nil {
			r.Fatalf("process %d does not stand still", pid)
		}
		time.Sleep(time.Millisecond) // and look again
	}
	r.await(32)
	s.process.signal(syscall.SIGCONT)
}}}

// links: what can happen to connections.
var links = []fault{
	{"answers lost", func(r *trial, s *site) {
		s.front.Rx.Shut()
		r.await(24)
		s.front.Cut()
		s.front.Rx.Open()
	}},
	{"requests lost", func(r *trial, s *site) {
		s.front.Tx.Shut()
		r.await(24)
		s.front.Cut()
		s.front.Tx.Open()
	}},
	{"requests arrive after their clients gave up, all at once", func(r *trial, s *site) {
		s.front.Tx.Shut()
		r.await(24)
		s.front.Tx.Open()
	}},
	{"connections cut", func(r *trial, s *site) {
		s.front.Cut()
		r.await(24)
	}},
}
