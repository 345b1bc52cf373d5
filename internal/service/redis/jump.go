package redis

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
)

// jump has the clock of an embedded node jump. That of a real one is the machine's.
var jump = service.NewFault(scenario.Form{
	Usage: "jump NODE for TIME", Own: "has the clock of a Redis jump",
	About: "The clock of an embedded node jumps forward: the node's keys expire so much sooner.",
	Check: nodes.Check(nil,
		service.NodeRule{Fact: service.NodeDead, Is: true, Words: "%s is dead, and has no clock"},
		service.NodeRule{Fact: service.NodeStill, Is: true, Words: "%s stands still, and so does its clock"}),
}, func(ctx context.Context, s *servers, story service.Story, step scenario.Step) error {
	n := s.named(step.Node)
	defer s.account.because("its key expired by the clock of " + n.name)()
	client := redis.NewClient(n.options)
	defer client.Close()
	return service.Noted(story, fmt.Sprintf("%s's clock jumps forward by %v", n.name, step.For), func() error {
		return story.Meanwhile(ctx, "the clock of "+n.name+" to jump", func(ctx context.Context) error {
			defer n.awaitAccount()
			return client.Do(ctx, redisproc.Jump, step.For.Milliseconds()).Err()
		})
	})
})
