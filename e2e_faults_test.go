package fencelab_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.etcd.io/etcd/pkg/v3/proxy"
	"go.uber.org/zap"
)

// site is a storage process that keeps its address when it is started again, and
// the network in front of it.
type site struct {
	w       *world
	args    []string
	addr    string // of the storage
	url     string // of the network in front of it, for clients
	process *process

	proxy   proxy.Server
	closing sync.WaitGroup // old proxies whose connections are still open
}

func newSite(w *world, args ...string) *site {
	w.t.Helper()
	s := &site{w: w, addr: fixedAddress(w.t), args: args}
	s.start()
	front := fixedAddress(w.t)
	s.url = "http://" + front
	s.connect()
	w.t.Cleanup(func() {
		s.disconnect()
		s.closing.Wait()
	})
	return s
}

// fixedAddress is one that nobody listens on, with a port that the kernel gives
// to no outgoing connection, so that it can be listened on again and again.
func fixedAddress(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		t.Fatal(err)
	}
	var low, high int
	if _, err := fmt.Sscan(string(b), &low, &high); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(low-10_000))
		if ln, err := net.Listen("tcp", addr); err == nil {
			ln.Close()
			return addr
		}
	}
	t.Fatal("no free port found below the ephemeral ones")
	return ""
}

func (s *site) start() {
	s.w.t.Helper()
	s.process, _ = s.w.storage(append([]string{"--listen", s.addr}, s.args...)...)
}

// connect puts a network in front of the storage.
func (s *site) connect() {
	s.w.t.Helper()
	host := strings.TrimPrefix(s.url, "http://")
	deadline := time.Now().Add(patience)
	var p proxy.Server
	for ready := false; !ready; {
		p = proxy.NewServer(proxy.ServerConfig{
			Logger: zap.NewNop(),
			From:   url.URL{Scheme: "tcp", Host: host},
			To:     url.URL{Scheme: "tcp", Host: s.addr},
		})
		select {
		case <-p.Ready():
			ready = true
		case err := <-p.Error(): // one that was closed may still have the port, for a moment
			if time.Now().After(deadline) {
				s.w.t.Fatalf("proxy on %s: %v", host, err)
			}
			time.Sleep(time.Millisecond) // and try again
		}
	}
	go func() {
		for { // it stands still when nobody hears its errors
			select {
			case <-p.Error():
			case <-p.Done():
				return
			}
		}
	}()
	s.proxy = p
}

// disconnect cuts the network off. What is on its way to the clients is lost,
// and connections that are idle break when they are next used, which is why it
// is not waited for here.
func (s *site) disconnect() {
	p := s.proxy
	p.PauseRx() // a proxy that is closed hangs up on what it has paused
	s.closing.Go(func() { _ = p.Close() })
	<-p.Done()
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
		s.proxy.BlackholeRx()
		r.await(24)
		s.proxy.UnblackholeRx()
	}},
	{"requests lost", func(r *trial, s *site) {
		s.proxy.BlackholeTx()
		r.await(24)
		s.proxy.UnblackholeTx()
	}},
	{"requests held back, and let go all at once", func(r *trial, s *site) {
		s.proxy.PauseTx()
		r.await(24)
		s.proxy.UnpauseTx()
	}},
	{"requests arrive after their clients gave up", func(r *trial, s *site) {
		s.proxy.DelayTx(clientTimeout+clientTimeout/2, clientTimeout/4)
		r.await(24)
		s.proxy.UndelayTx()
	}},
	{"connections cut", func(r *trial, s *site) {
		s.disconnect()
		s.connect()
		r.await(24)
	}},
}
