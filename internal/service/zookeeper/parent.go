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
