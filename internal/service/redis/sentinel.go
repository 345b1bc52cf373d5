package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
)

// maxLag is after how many seconds without a word from a replica the master counts it no more.
const maxLag = 3

// pollPause is for how long until waits before it asks again.
const pollPause = 20 * time.Millisecond

// until asks again and again until there is no error, or ctx is done.
func until(ctx context.Context, ask func(context.Context) error) error {
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if !sleep.For(ctx, pollPause) {
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// watched reports whether sentinels watch the nodes.
func (s *servers) watched() bool { return s.stage.Plan().World.Number(settingSentinels) > 0 }

// watch starts the sentinels, and returns when they have found each other and the replicas.
func (b *standby) watch(ctx context.Context, s service.Stage, program string, replicas int) error {
	all, err := redisproc.Sentinels(ctx, s.Group(), program, b.link.Addr(), s.Plan().World.Number(settingSentinels), replicas)
	for _, sentinel := range all {
		service.Guard(s, sentinel.Process())
		b.sentinels = append(b.sentinels, redis.NewSentinelClient(&redis.Options{Addr: sentinel.Addr, MaxRetries: -1}))
	}
	return err
}

// all returns when none of the sentinels has an error more.
func (b *standby) all(ctx context.Context, ask func(context.Context, *redis.SentinelClient) error) error {
	for _, sentinel := range b.sentinels {
		if err := until(ctx, func(ctx context.Context) error { return ask(ctx, sentinel) }); err != nil {
			return err
		}
	}
	return nil
}

// demand has a node, whose account has begun, take writes only while replicas answer. The account's stream is one of
// them.
func (n *node) demand(ctx context.Context, replicas int) error {
	if replicas == 0 {
		return nil
	}
	client := redis.NewClient(n.options)
	defer client.Close()
	return errors.Join(client.ConfigSet(ctx, "min-replicas-max-lag", fmt.Sprint(maxLag)).Err(),
		client.ConfigSet(ctx, "min-replicas-to-write", fmt.Sprint(replicas+1)).Err())
}

func (s *servers) minReplicas() int { return s.stage.Plan().World.Number(settingMinReplicas) }

// refusesWrites is an error unless a node takes no writes for want of replicas.
func (n *node) refusesWrites(ctx context.Context) error {
	client := redis.NewClient(n.options)
	defer client.Close()
	if err := client.Set(ctx, marker, "", time.Second).Err(); err == nil || !strings.HasPrefix(err.Error(), "NOREPLICAS") {
		return errors.Join(fmt.Errorf("%s still takes writes", n.name), err)
	}
	return nil
}

// follows is an error unless a node is a replica that hears its master.
func (n *node) follows(ctx context.Context) error {
	client := redis.NewClient(n.options)
	defer client.Close()
	info, err := client.Info(ctx, "replication").Result()
	if err == nil && !strings.Contains(info, "master_link_status:up") {
		err = fmt.Errorf("%s follows nobody", n.name)
	}
	return err
}

// The nodes of a world with sentinels, as stories have them.
const (
	firstMaster = Name + "1"
	firstInLine = Name + "2"
)

// masterIsolated is what a story says of the master.
const masterIsolated = "the master is isolated"

// checkSentinels makes the Check of a Form about a node that sentinels watch.
func checkSentinels(node string, check func(*scenario.Story) string) func(*scenario.Story, *scenario.ClientStory, scenario.Step) string {
	return func(s *scenario.Story, _ *scenario.ClientStory, step scenario.Step) string {
		switch {
		case !sentinelsIn(s):
			return "no sentinels watch the nodes: it needs \"replicas: 2\" and \"sentinels: 3\""
		case step.Node != node:
			return fmt.Sprintf("with sentinels it is about %s, and not about %s", node, step.Node)
		}
		return check(s)
	}
}

func sentinelsIn(s *scenario.Story) bool {
	return s.Variant.World.Settings.Number(settingSentinels) > 0
}

// unwatched refuses faults of nodes that sentinels watch.
func unwatched(faults []*service.Fault) []*service.Fault {
	for _, f := range faults {
		check := f.Check
		f.Check = func(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
			if sentinelsIn(s) {
				return "sentinels watch the nodes, and of these a story can only isolate " + firstMaster
			}
			return check(s, c, step)
		}
	}
	return faults
}

// isolateMaster is isolateReplica with sentinels.
func (s *servers) isolateMaster(story service.Story) {
	b := s.standby
	for _, link := range []*network.Link{b.link, b.lead} {
		link.Tx.Shut()
		link.Rx.Shut()
	}
	story.Remark(story.Now(), b.master.name+" is isolated: replicas, sentinels and clients do not reach it, but for those beside it", b.master.is(history.NodeIsolated))
}

var awaitPromotion = service.NewFault(scenario.Form{
	Usage: "await promotion of NODE", Own: "has sentinels of Redis",
	About: "Over when the sentinels have promoted the replica and clients find it. With min-replicas it is over when the old master takes no writes, too.",
	Check: checkSentinels(firstInLine, func(s *scenario.Story) string {
		switch {
		case s.Facts[replicaPromoted]:
			return firstInLine + " is promoted already"
		case !s.Facts[masterIsolated]:
			return "nobody promotes a replica while the master is there: it needs a step \"gcsim: isolate " + firstMaster + "\" before"
		}
		s.Facts[replicaPromoted] = true
		return ""
	}),
}, func(ctx context.Context, s *servers, story service.Story, _ scenario.Step) error {
	old, next := s.standby.master, s.standby.replica
	clients := s.standby.turn(next)
	err := story.Meanwhile(ctx, "the sentinels to promote "+next.name, func(starting context.Context) error {
		agreed := s.standby.all(starting, func(ctx context.Context, sentinel *redis.SentinelClient) error {
			addr, err := sentinel.GetMasterAddrByName(ctx, redisproc.Watched).Result()
			if err == nil && net.JoinHostPort(addr[0], addr[1]) != next.options.Addr {
				err = fmt.Errorf("a sentinel says that the master is %s", strings.Join(addr, ":"))
			}
			return err
		})
		if agreed != nil {
			return agreed
		}
		return next.observe(ctx, s.account)
	})
	if err != nil {
		return err
	}
	story.Remark(story.Now(), "the sentinels have promoted "+next.name+": it is the master now, and clients find it where they found "+old.name, next.leads())
	s.standby.master, s.standby.replica = next, old
	err = story.Meanwhile(ctx, "replicas of "+next.name, func(ctx context.Context) error {
		if err := s.awaitReplicas(ctx, s.replicas()-1); err != nil || s.minReplicas() == 0 {
			return err
		}
		return errors.Join(next.demand(ctx, s.minReplicas()), until(ctx, old.refusesWrites))
	})
	if s.minReplicas() > 0 && err == nil {
		story.Remark(story.Now(), old.name+" has not heard from its replicas, and takes no writes")
	}
	clients.Tx.Open()
	return err
})

// healMaster is healReplica with sentinels. The account of the old master ends: what it alone knows is forgotten.
func (s *servers) healMaster(ctx context.Context, story service.Story) error {
	b := s.standby
	old := b.replica
	old.watch.stop()
	if err := story.AwaitClosed(ctx, "the end of what "+old.name+" told", old.watch.ended); err != nil {
		return err
	}
	defer s.account.because(old.name + " has forgotten its key")()
	b.link.Cut()
	b.link.Tx.Open()
	b.link.Rx.Open()
	err := story.Meanwhile(ctx, "the sentinels to make "+old.name+" a replica", func(ctx context.Context) error {
		if err := until(ctx, old.follows); err != nil {
			return err
		}
		err := s.awaitReplicas(ctx, s.replicas())
		s.account.change(old.place, func(database) database { return make(database) })
		return err
	})
	if err == nil {
		story.Remark(story.Now(), "the sentinels have made "+old.name+" a replica of "+b.master.name+": it has what that has, and nothing else", old.is(history.NodeRunning))
	}
	return err
}
