package kubernetes

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/kubernetes/kubeproc"
)

// servers are an API server and its etcd.
type servers struct {
	stage     service.Stage
	cluster   *kubeproc.Cluster // nil: other runs use them as well
	api, etcd string            // their addresses
	account   *account          // nil before Observe
}

func start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	c, err := kubeproc.Start(ctx, stage.Group())
	if err != nil {
		return nil, err
	}
	for _, p := range processes(c) {
		service.Guard(stage, p)
	}
	return &servers{stage: stage, cluster: c, api: c.API.Addr, etcd: c.Etcd.Endpoint()}, nil
}

func processes(c *kubeproc.Cluster) []*proc.Process {
	return []*proc.Process{c.API.Process(), c.Etcd.Process()}
}

func launch(ctx context.Context, g *proc.Group, _ setting.Values) (service.Launched, error) {
	c, err := kubeproc.Start(ctx, g)
	if err != nil {
		return service.Launched{}, err
	}
	return service.Launched{Endpoints: []string{c.API.Addr, c.Etcd.Endpoint()}, Processes: processes(c)}, nil
}

// join takes the endpoints of launch.
func join(stage service.Stage, endpoints []string) service.Servers {
	return &servers{stage: stage, api: endpoints[0], etcd: endpoints[len(endpoints)-1]}
}

// Observe returns when etcd tells of all Leases of the run, none of which is there yet.
func (s *servers) Observe(ctx context.Context) error {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.etcd}, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("observer: %w", err)
	}
	begun, cancel := context.WithTimeoutCause(ctx, service.ObserveDeadline, fmt.Errorf("the etcd of Kubernetes does not answer after %v", service.ObserveDeadline))
	defer cancel()
	locks := s.stage.Plan().Locks
	s.account = newAccount(s.stage, locks)
	for _, lock := range locks {
		now, err := client.Get(begun, keyOf(lock))
		if err != nil {
			client.Close()
			return fmt.Errorf("observer: %w", cmp.Or(context.Cause(begun), err))
		}
		changes := client.Watch(ctx, keyOf(lock), clientv3.WithRev(now.Header.Revision+1))
		s.stage.Go(func() {
			if err := follow(changes, s.account); err != nil && ctx.Err() == nil {
				s.stage.Fail(nil, fmt.Errorf("the observer's watch of %s: %w", lock, err))
			}
		})
	}
	s.stage.Go(func() { <-ctx.Done(); client.Close() })
	return nil
}

// follow takes in the changes of a Lease.
func follow(changes clientv3.WatchChan, a *account) error {
	for change := range changes {
		if err := change.Err(); err != nil {
			return err
		}
		for _, e := range change.Events {
			if e.Type == mvccpb.Event_DELETE {
				a.gone(string(e.Kv.Key), time.Now())
			} else if err := a.put(string(e.Kv.Key), e.Kv.Value, e.Kv.ModRevision, time.Now()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *servers) Endpoints(context.Context, setting.Values) ([]string, error) {
	return []string{s.api}, nil
}

// Leave deletes the Leases of the run.
func (s *servers) Leave(ctx context.Context) {
	for _, lock := range s.stage.Plan().Locks {
		_ = s.delete(ctx, lock) // one that is not there is none that is left
	}
}

func (s *servers) delete(ctx context.Context, lock string) error {
	return kubeproc.Ask(ctx, http.MethodDelete, s.api, "/apis/coordination.k8s.io/v1/namespaces/default/leases/"+leaseOf(lock))
}

// nodes are one API server. Without it nothing changes in etcd.
var nodes = service.Nodes{Name: Name, One: "API server of Kubernetes", Many: "the API server of Kubernetes"}

var signals = nodes.Faults(func(of service.Servers, _ string) service.Subject {
	return service.Subject{Controlled: of.(*servers).cluster.API, Called: "the API server"}
}, func(ctx context.Context, of service.Servers, story service.Story, step scenario.Step) error {
	api := of.(*servers).cluster.API
	if err := story.Meanwhile(ctx, "the API server to serve", api.Restart); err != nil {
		return err
	}
	service.Guard(story, api.Process())
	story.Remark(story.Now(), "the API server is started again", history.Node{Name: step.Node, State: history.NodeRunning})
	return nil
})

// deleteLease deletes what clients renew.
var deleteLease = service.NewFault(scenario.Form{
	Usage: "delete lease of CLIENT [under NAME]", Dead: true,
	About: "Deletes the Lease by which the client has its lock, as \"kubectl delete lease\" does.",
	Check: scenario.HasAsked,
}, func(ctx context.Context, s *servers, story service.Story, step scenario.Step) error {
	tenure := story.Tenure(step)
	lock := s.account.lockOf(tenure)
	if lock == "" {
		return fmt.Errorf("%s is the holder in no Lease that could be deleted: its tenure is %q", step.Client, tenure)
	}
	story.Revoked(func(other string) bool { return other == tenure })
	err := story.Meanwhile(ctx, "the API server to delete a Lease", func(ctx context.Context) error { return s.delete(ctx, lock) })
	if err != nil {
		return err
	}
	return story.AwaitEnd(ctx, step.Client, tenure)
})
