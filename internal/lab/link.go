package lab

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/etcd/pkg/v3/proxy"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/ports"
	"github.com/fencelab/fencelab/internal/scenario"
)

// link is the network between a client and one address of a service.
type link struct {
	from, to string // addresses
	proxy    proxy.Server
	closing  sync.WaitGroup
}

// linkAttempts is for how many ports newLink goes on when others are faster.
const linkAttempts = 5

func newLink(to string) (*link, error) {
	var last error
	for range linkAttempts {
		from, err := ports.Free(1)
		if err != nil {
			return nil, err
		}
		l := &link{from: from[0], to: to}
		if last = l.open(); last == nil {
			return l, nil
		}
	}
	return nil, fmt.Errorf("network to %s: %w", to, last)
}

func (l *link) open() error {
	p := proxy.NewServer(proxy.ServerConfig{
		Logger: zap.NewNop(),
		From:   url.URL{Scheme: "tcp", Host: l.from}, // it listens on all interfaces all the same
		To:     url.URL{Scheme: "tcp", Host: l.to},
	})
	select {
	case <-p.Ready():
	case err := <-p.Error():
		return err
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
	l.proxy = p
	return nil
}

// cut breaks all connections; what is under way is lost.
func (l *link) cut() {
	l.proxy.PauseRx() // a proxy that is closed hangs up on what it has paused
	l.proxy.PauseTx()
	p := l.proxy
	l.closing.Go(func() { _ = p.Close() }) // it waits until both ends hang up
	<-p.Done()
}

// reopen has the network work again after a cut. The old proxy may still have the
// port, for a moment, and does not say when it has let go of it.
func (l *link) reopen(ctx context.Context) error {
	for {
		err := l.open()
		if !errors.Is(err, syscall.EADDRINUSE) {
			return err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("network to %s: %w (%w)", l.to, err, context.Cause(ctx))
		}
	}
}

// close may be called when the processes at both ends are gone.
func (l *link) close() {
	l.cut()
	l.closing.Wait()
}

// links are the networks of one client.
type links struct {
	etcd    []*link // one for each member that it knows
	storage *link   // for what it sends and does not wait for
	held    bool    // what it sends waits
}

// to are those to a service.
func (n *links) to(service string) []*link {
	switch {
	case service == scenario.TargetEtcd:
		return n.etcd
	case n.storage != nil:
		return []*link{n.storage}
	}
	return nil
}

func (n *links) close() {
	for _, l := range n.etcd {
		l.close()
	}
	if n.storage != nil {
		n.storage.close()
	}
}
