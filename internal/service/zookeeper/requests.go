package zookeeper

import (
	"context"
	"fmt"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

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
