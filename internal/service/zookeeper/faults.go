package zookeeper

import (
	"context"
	"fmt"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/zookeeper/watch"
)

// removeParent deletes a lock's own node, as ZooKeeper does with a container that is empty,
// and as people do who clean up.
var removeParent = service.NewFault(scenario.Form{
	Usage: "remove NAME",
	About: "The lock's own node is removed, below which nobody has a node, as ZooKeeper does with containers that are empty.",
}, func(ctx context.Context, s *servers, story service.Story, step scenario.Step) error {
	lock := story.Plan().Prefix + step.Lock
	return service.Noted(story, "the node "+step.Lock+", below which there is none, is removed", func() error {
		return story.Meanwhile(ctx, "ZooKeeper to remove "+step.Lock, func(ctx context.Context) error { return s.remove(ctx, lock) })
	})
})

func (s *servers) remove(ctx context.Context, lock string) error {
	stream, err := watch.Follow(ctx, s.endpoints[0], nil, nil)
	if err != nil {
		return err
	}
	defer stream.Close()
	switch err := stream.Delete(ctx, lock); err {
	case watch.NotEmpty:
		return fmt.Errorf("somebody holds or wants %s: its node can be removed when all have left", lock)
	default:
		return err
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
