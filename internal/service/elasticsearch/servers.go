package elasticsearch

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/elasticsearch/esproc"
)

// servers are the one node of a run, and the gate before it.
type servers struct {
	stage service.Stage
	where string // the node
	node  *node
	gate  *gate
	addr  string // of the gate
}

func launch(ctx context.Context, g *proc.Group, _ setting.Values) (service.Launched, error) {
	n, err := esproc.Start(ctx, g)
	if err != nil {
		return service.Launched{}, err
	}
	return service.Launched{Endpoints: []string{n.Addr}, Processes: []*proc.Process{n.Process()}}, nil
}

func join(stage service.Stage, endpoints []string) service.Servers {
	return &servers{stage: stage, where: endpoints[0]}
}

// observeDeadline is for how long a node is asked for the beginning of the account.
const observeDeadline = time.Minute

// settings are those of the run's indices: one copy of the documents, in one order. Searches see
// what was refreshed, which is done by clients alone.
var settings = values{
	"settings": values{"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": -1},
	"mappings": values{"dynamic": false, "properties": values{"process_id": values{"type": "keyword"}}},
}

func (s *servers) indices() []string {
	return []string{indexOf(s.stage.Plan().Prefix), filesOf(s.stage.Plan().Prefix)}
}

// Observe makes the run's indices, and opens the gate.
func (s *servers) Observe(ctx context.Context) error {
	starting, cancel := context.WithTimeoutCause(ctx, observeDeadline, fmt.Errorf("no answer from Elasticsearch after %v", observeDeadline))
	defer cancel()
	n, err := at(s.where)
	if err != nil {
		return err
	}
	for _, index := range s.indices() {
		if err := n.call(starting, http.MethodPut, "/"+index, settings, nil); err != nil {
			return fmt.Errorf("make the index %s: %w", index, err)
		}
	}
	s.node = n
	if err := warmUp(starting, n, s.stage.Plan().Prefix); err != nil {
		return fmt.Errorf("take locks for the first time: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.addr = listener.Addr().String()
	s.gate = &gate{node: n, account: newAccount(s.stage), files: newFiles(s.stage), locks: s.stage.Plan().Locks, fail: func(err error) { s.stage.Fail(nil, err) }}
	server := &http.Server{Handler: s.gate.handler(), ReadHeaderTimeout: observeDeadline}
	s.stage.Go(func() { _ = server.Serve(listener) })
	s.stage.Go(func() {
		<-ctx.Done()
		_ = server.Close()
	})
	return nil
}

// warmUp has a node do once what clients will ask it for, on locks that are none of the run's:
// the first requests of a node, and of an index, may take longer than a lease lasts.
func warmUp(ctx context.Context, n *node, prefix string) error {
	settings := setting.Defaults(slices.Concat(setting.Client, clientSettings))
	settings[setting.TTL] = observeDeadline.String()
	for _, r := range recipes {
		c, scope := &client{*n, settings, r}, prefix+"/warm-up/"+r.name
		t, err := c.TryLock(ctx, scope, "")
		if err != nil {
			return err
		}
		if r == &versions {
			files, _ := c.Under(t)
			for _, op := range []string{history.OpWrite, history.OpDelete} {
				if err := files.Do(ctx, &history.Event{Op: op, Scope: scope, Key: "warm-up"}); err != nil {
					return err
				}
			}
		}
		if err := t.Unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *servers) Endpoints(context.Context, setting.Values) ([]string, error) {
	return []string{s.addr}, nil
}

// Leave deletes the run's indices. A change that came later would make its index anew.
func (s *servers) Leave(ctx context.Context) {
	if s.node == nil {
		return
	}
	if s.gate != nil {
		s.gate.close()
	}
	_ = s.node.call(ctx, http.MethodDelete, "/"+strings.Join(s.indices(), ","), nil, nil)
	s.node.close()
}
