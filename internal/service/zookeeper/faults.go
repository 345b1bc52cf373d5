package zookeeper

import (
	"context"
	"fmt"
	"sync"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/zookeeper/watch"
)

// awaitRemoval waits until ZooKeeper has removed a lock's own node, which is a container, as it is empty.
var awaitRemoval = service.NewFault(scenario.Form{
	Usage: "await removal of NAME", Own: "waits for what ZooKeeper removes by itself",
	About: "ZooKeeper removes the lock's own node, a container, as it is empty.",
	Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
		if every := s.Variant.World.Settings.Time(settingContainers); every > soon {
			return fmt.Sprintf("ZooKeeper looks for empty containers every %v: it needs \"%s: %v\", or less", every, settingContainers, soon)
		}
		return ""
	},
}, func(ctx context.Context, s *servers, story service.Story, step scenario.Step) error {
	lock := story.Plan().Prefix + step.Lock
	return service.Noted(story, "ZooKeeper removes the node "+step.Lock+", below which there is none", func() error {
		return story.Meanwhile(ctx, "ZooKeeper to remove "+step.Lock, func(ctx context.Context) error { return s.removal(ctx, lock) })
	})
})

// removal returns when the member at the first of the endpoints has told of it.
func (s *servers) removal(ctx context.Context, node string) error {
	removed := make(chan struct{})
	gone := sync.OnceFunc(func() { close(removed) })
	stream, err := watch.Follow(ctx, s.endpoints[0], []string{node}, func(e watch.Event) {
		if e.Deleted && e.Path == node {
			gone()
		}
	})
	if err != nil {
		return err
	}
	defer stream.Close()
	if there, err := stream.Has(ctx, node); err != nil || !there {
		return err
	}
	select {
	case <-removed:
		return nil
	case <-stream.Done():
		return stream.Err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// countRequests notes how many requests ZooKeeper has had from the clients, by ZooKeeper's
// own counters.
var countRequests = service.NewFault(scenario.Form{
	Usage: "count requests", Target: scenario.TheService, Own: "counts ZooKeeper's requests",
	About: "The history says how many requests ZooKeeper has had since the last such step from the clients that hold a lock or wait, or did at such a step. The step is over when all who wait have nothing to ask.",
	Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
		if n := s.Variant.World.Settings.Number(nodes.Setting); n != 1 {
			return fmt.Sprintf("ZooKeeper has %d members, and each counts for itself: it needs \"members: 1\"", n)
		}
		return ""
	},
}, func(ctx context.Context, s *servers, story service.Story, _ scenario.Step) error {
	now, err := service.Meanwhile(ctx, story, "ZooKeeper's count of requests", func(ctx context.Context) (map[string]int, error) {
		return s.cluster.Members[0].Requests(ctx, s.requests)
	})
	if err != nil {
		return err
	}
	since, n := "since the last count", 0
	if s.requests == nil {
		since = "so far"
	}
	for session, all := range now {
		n += all - s.requests[session]
	}
	s.requests = now
	story.Remark(story.Now(), fmt.Sprintf("ZooKeeper has had %d requests from the clients %s", n, since))
	return nil
})

const observerIsolated = "the observer is isolated"

// isolateObserver has the observer go on without the members that vote. Its clients do not find out.
var isolateObserver = service.NewFault(scenario.Form{
	Usage: "isolate observer", Target: service.MemberObserver, Own: "isolates ZooKeeper's observer",
	About: "Nothing passes between ZooKeeper's observer and the other members from now on. Clients reach the observer, which answers them with what it has. With \"read-only: true\" the observer finds out, breaks all connections, and goes on with reads, for clients that take such a member: then the step is over.",
	Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
		switch {
		case !s.Variant.World.Settings.Flag(settingObserver):
			return "ZooKeeper " + lacksObserver
		case s.Facts[observerIsolated]:
			return observerIsolated + " already"
		}
		s.Facts[observerIsolated] = true
		return ""
	},
}, func(ctx context.Context, s *servers, story service.Story, _ scenario.Step) error {
	o := s.cluster.Observer
	err := service.Noted(story, o.Name+", the observer, and the others hear nothing of each other from now on", func() error {
		o.Isolate()
		return nil
	}, history.Node{Name: o.Name, State: history.NodeIsolated})
	if err != nil || !story.Plan().World.Flag(settingReadOnly) {
		return err
	}
	if err := story.Meanwhile(ctx, o.Name+" to go on with reads", o.AwaitReadOnly); err != nil {
		return err
	}
	story.Remark(story.Now(), o.Name+" has lost the others, and goes on with reads")
	return nil
})
