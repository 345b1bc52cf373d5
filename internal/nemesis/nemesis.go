// Package nemesis makes trouble for clients that are not its children: it pauses
// the process that holds a lock until a successor has written, over and over.
package nemesis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/clientcmd"
	"github.com/fencelab/fencelab/internal/kvhttp"
	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// Config says whom to trouble, and how much.
type Config struct {
	Endpoints []string
	Storage   string // URL
	Lock      string
	Pauses    int
	Clients   int // the demo is over when so many have been seen and have ended
	Deadline  time.Duration
	Log       *slog.Logger
}

// How often something is looked at that tells nobody when it changes, and for
// how long one pause may go on.
const (
	lookAgain  = 20 * time.Millisecond
	pauseLimit = 30 * time.Second
)

type nemesis struct {
	Config
	etcd    *clientv3.Client
	storage *kvhttp.Client
	changes clientv3.WatchChan
	pending []*clientv3.Event
	seen    map[int]*proc.Foreign // by process id
}

// holder is a client that holds the lock, by its announcement.
type holder struct {
	clientcmd.Holder
	key   string // of the announcement
	token fence.Token
}

// Run troubles the holders of a lock and returns how many stale writes the
// storage refused because of it.
func Run(ctx context.Context, c Config) (refused int, err error) {
	n := &nemesis{Config: c, storage: kvhttp.NewClient(c.Storage, kvhttp.ClientOptions{}), seen: make(map[int]*proc.Foreign)}
	defer n.storage.Close()
	n.etcd, err = clientv3.New(clientv3.Config{Endpoints: c.Endpoints, Logger: zap.NewNop(), Context: ctx})
	if err != nil {
		return 0, err
	}
	defer n.etcd.Close()
	defer func() {
		for _, p := range n.seen {
			err = errors.Join(err, p.Close())
		}
	}()
	if err := n.awaitWorld(ctx); err != nil {
		return 0, err
	}
	n.changes = n.etcd.Watch(ctx, etcd.HolderPrefix+c.Lock+"/", clientv3.WithPrefix())
	for paused := 0; paused < c.Pauses || len(n.seen) < c.Clients; {
		h, err := n.next(ctx)
		if err != nil {
			return refused, err
		}
		if paused == c.Pauses {
			continue // only to see who there is
		}
		ok, err := n.trouble(ctx, h)
		if err != nil {
			return refused, err
		}
		paused++
		if ok {
			refused++
		}
	}
	n.Log.Info("no more pauses; waiting for the clients to end", "refused", refused)
	for _, p := range n.seen {
		if err := p.AwaitEnd(ctx); err != nil {
			return refused, err
		}
	}
	return refused, nil
}

// awaitWorld waits until etcd and the storage answer: in a Procfile everything
// starts at once.
func (n *nemesis) awaitWorld(ctx context.Context) error {
	return every(ctx, func() (bool, error) {
		ask, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := n.etcd.Get(ask, etcd.HolderPrefix)
		if err == nil {
			_, err = n.stale(ask)
		}
		return err == nil, nil
	})
}

// next waits for a client that announces itself as the holder.
func (n *nemesis) next(ctx context.Context) (holder, error) {
	for {
		e, err := n.change(ctx)
		if err != nil {
			return holder{}, err
		}
		if !e.IsCreate() {
			continue
		}
		h := holder{key: string(e.Kv.Key)}
		if err := json.Unmarshal(e.Kv.Value, &h.Holder); err != nil {
			return h, fmt.Errorf("announcement %s: %w", h.key, err)
		}
		if n.seen[h.PID] == nil {
			p, err := proc.Find(h.PID)
			if err != nil {
				return h, fmt.Errorf("%s announced itself: %w", h.Name, err)
			}
			n.seen[h.PID] = p
		}
		key, err := n.etcd.Get(ctx, etcdlock.Prefix(n.Lock)+path.Base(h.key))
		if err != nil {
			return h, err
		}
		if len(key.Kvs) == 0 {
			continue // it was quick: the lock is released already
		}
		h.token = fence.Token(key.Kvs[0].CreateRevision)
		return h, nil
	}
}

// change is the next change of the announcements.
func (n *nemesis) change(ctx context.Context) (*clientv3.Event, error) {
	for len(n.pending) == 0 {
		select {
		case c, ok := <-n.changes:
			if err := c.Err(); err != nil || !ok {
				return nil, fmt.Errorf("watching for holders: %w", errors.Join(err, context.Cause(ctx)))
			}
			n.pending = c.Events
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	e := n.pending[0]
	n.pending = n.pending[1:]
	return e, nil
}

// trouble pauses a holder until a successor has written, and reports whether
// the storage then refused its write. It may have written just before.
func (n *nemesis) trouble(ctx context.Context, h holder) (refused bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, pauseLimit)
	defer cancel()
	p := n.seen[h.PID]
	if err := p.Pause(ctx); err != nil {
		return false, err
	}
	began := time.Now()
	resumed := false
	defer func() {
		if !resumed {
			err = errors.Join(err, p.Resume())
		}
	}()
	n.Log.Info("paused the holder", "client", h.Name, "pid", h.PID, "token", h.token)
	successor := n.awaitSuccessor(ctx, h)
	if successor != nil && ctx.Err() == nil {
		return false, successor
	}
	before, err := n.stale(context.WithoutCancel(ctx))
	if err != nil {
		return false, err
	}
	resumed = true
	if err := p.Resume(); err != nil {
		return false, err
	}
	n.Log.Info("let it go on", "client", h.Name, "stood still for", time.Since(began).Round(time.Millisecond))
	if successor != nil {
		n.Log.Warn("nobody wrote meanwhile", "after", pauseLimit)
		return false, nil
	}
	err = every(ctx, func() (bool, error) {
		now, err := n.stale(ctx)
		return now > before, err
	})
	if err != nil {
		n.Log.Warn("its write was not refused", "client", h.Name, "err", err)
		return false, nil
	}
	n.Log.Info("the storage refused its stale write", "client", h.Name, "token", h.token)
	return true, nil
}

// awaitSuccessor waits until a client with a higher token has reached the storage.
func (n *nemesis) awaitSuccessor(ctx context.Context, h holder) error {
	return every(ctx, func() (bool, error) {
		mark, err := n.storage.Mark(ctx, n.Lock)
		return mark.Token > h.token, err
	})
}

// stale is how many requests the storage has refused as stale.
func (n *nemesis) stale(ctx context.Context) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.Storage+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(resp.Body)
	if err != nil {
		return 0, fmt.Errorf("metrics of %s: %w", n.Storage, err)
	}
	sum := 0.0
	for _, m := range families[kvhttp.MetricRequests].GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "outcome" && l.GetValue() == "stale" {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	return sum, nil
}

// every looks again and again until done.
func every(ctx context.Context, done func() (bool, error)) error {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
