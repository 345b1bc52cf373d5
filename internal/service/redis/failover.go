package redis

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// standby is what the only node has beside it so that another can follow it: its replica, the network
// between the two, and an address at which clients find the one that is the master, as behind a proxy.
type standby struct {
	master, replica *node
	sentinels       []*redis.SentinelClient // nil: the story promotes the replica
	link            *network.Link           // from replicas and sentinels to the first master
	door            *network.Listener

	mu   sync.Mutex
	lead *network.Link // from the door to the master
}

// standBy starts the replicas of the only node, and its sentinels, and returns when all have found each other. The first
// replica is the one that is promoted.
func (s *servers) standBy(ctx context.Context, program string) error {
	master := s.nodes[0]
	link, err := network.New(master.options.Addr)
	if err != nil {
		return err
	}
	b := &standby{master: master, link: link, lead: network.NewTaking(master.options.Addr)}
	s.stage.Group().After(b.close)
	if b.door, err = network.Listen(b.take); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(link.Addr())
	if err != nil {
		return err
	}
	replicas := s.replicas()
	for i := range replicas {
		n, err := s.start(ctx, program, i+1, "--replicaof", host+" "+port, "--replica-priority", fmt.Sprint(i+1))
		if err != nil {
			return err
		}
		if i == 0 {
			b.replica = n
		}
	}
	s.standby = b
	if err := s.awaitReplicas(ctx, replicas); err != nil || !s.watched() {
		b.replica.place = master.place // it is in the master's place, if ever it is
		return err
	}
	return b.watch(ctx, s.stage, program, replicas)
}

func (s *servers) replicas() int { return s.stage.Plan().World.Number(settingReplicas) }

func (b *standby) close() {
	if b.door != nil {
		b.door.Close()
	}
	b.link.Close()
	b.lead.Close()
	for _, sentinel := range b.sentinels {
		sentinel.Close()
	}
}

// take has a client's connection lead to the master.
func (b *standby) take(client net.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lead.Take(client)
}

// turn breaks the clients' connections, and has new ones lead to another node. They wait until that one is opened.
func (b *standby) turn(to *node) *network.Link {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lead.Close()
	b.lead = network.NewTaking(to.options.Addr)
	b.lead.Tx.Shut()
	return b.lead
}

// awaitReplicas returns when so many replicas have all that the master has done, and are told of what comes. What they
// acknowledge first can be a snapshot, after which they may hear nothing until they have said so once more.
func (s *servers) awaitReplicas(ctx context.Context, replicas int) error {
	client := redis.NewClient(s.standby.master.options)
	defer client.Close()
	conn := client.Conn() // WAIT is about what one connection wrote
	defer conn.Close()
	for acknowledged := 0; acknowledged < 2; {
		if err := conn.Set(ctx, marker, "", time.Second).Err(); err != nil {
			return err
		}
		have, err := conn.Wait(ctx, replicas, time.Second).Result()
		if err != nil {
			return err
		}
		if int(have) >= replicas {
			acknowledged++
		}
	}
	return nil
}

// awaitReplica is awaitReplicas of the only one.
func (s *servers) awaitReplica(ctx context.Context) error { return s.awaitReplicas(ctx, 1) }

// What a story says of the replica.
const (
	replicaIsolated = "the replica is isolated"
	replicaPromoted = "the replica is promoted"
)

// checkReplica makes the Check of a Form about the replica, while the master runs. The story
// must not have promoted it, and it must be isolated or not; then is is so.
func checkReplica(needs bool, otherwise string) func(*scenario.Story, *scenario.ClientStory, scenario.Step) string {
	return func(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
		switch wrong := checkStandby(s, step); {
		case wrong != "":
			return wrong
		case s.Facts[fmt.Sprintf(service.NodeDead, firstMaster)] || s.Facts[fmt.Sprintf(service.NodeStill, firstMaster)]:
			return firstMaster + ", its master, does not run here: nothing passes between them as it is"
		case s.Facts[replicaIsolated] != needs:
			return step.Node + otherwise
		}
		s.Facts[replicaIsolated] = !needs
		return ""
	}
}

// eitherCheck is the Check of a Form that has another one where sentinels watch the nodes.
func eitherCheck(alone, watched func(*scenario.Story, *scenario.ClientStory, scenario.Step) string) func(*scenario.Story, *scenario.ClientStory, scenario.Step) string {
	return func(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
		if sentinelsIn(s) {
			return watched(s, c, step)
		}
		return alone(s, c, step)
	}
}

// checkStandby says why a step is not about a replica.
func checkStandby(s *scenario.Story, step scenario.Step) string {
	switch {
	case sentinelsIn(s):
		return "the sentinels promote a replica: want a step \"gcsim: await promotion of " + firstInLine + "\""
	case s.Variant.World.Settings.Number(settingReplicas) == 0:
		return "Redis has no replica: it needs \"replicas: 1\""
	case step.Node != firstInLine:
		return fmt.Sprintf("%s is no replica: the replica is %s", step.Node, firstInLine)
	case s.Facts[replicaPromoted]:
		return firstInLine + " is promoted already, and is the master"
	}
	return ""
}

// isolate has a replica know nothing of what its master does from now on; with sentinels it has the master be alone.
var isolate = service.NewFault(scenario.Form{
	Usage: "isolate NODE", Own: "isolates a replica of Redis",
	About: "Nothing passes between a replica and its master, until \"heal NODE\". The replica has all that the master did before. Clients reach the master. With sentinels: nothing passes between redis1, the master, and its replicas, the sentinels and clients, but those with \"beside: redis1\".",
	Check: eitherCheck(checkReplica(false, " is isolated already"), checkSentinels(firstMaster, func(s *scenario.Story) string {
		if s.Facts[masterIsolated] || s.Facts[replicaPromoted] {
			return firstMaster + " is isolated already, or was before"
		}
		s.Facts[masterIsolated] = true
		return ""
	})),
}, func(ctx context.Context, s *servers, story service.Story, _ scenario.Step) error {
	if s.watched() {
		s.isolateMaster(story)
		return nil
	}
	if err := story.Meanwhile(ctx, s.standby.replica.name+" to have all", s.awaitReplica); err != nil {
		return err
	}
	s.standby.link.Tx.Shut()
	s.standby.link.Rx.Shut()
	story.Remark(story.Now(), fmt.Sprintf("%s, the replica, hears nothing of %s from now on", s.standby.replica.name, s.standby.master.name), s.standby.replica.is(history.NodeIsolated))
	return nil
})

var heal = service.NewFault(scenario.Form{
	Usage: "heal NODE",
	About: "The isolated replica and its master reach each other again. Over when the replica has all that the master did. With sentinels: everybody reaches redis1, the old master, again. Over when the sentinels have made it a replica of the new one.",
	Check: eitherCheck(checkReplica(true, " is not isolated here: it needs a step \"gcsim: isolate redis2\" before"), checkSentinels(firstMaster, func(s *scenario.Story) string {
		if !s.Facts[masterIsolated] || !s.Facts[replicaPromoted] {
			return "it needs the steps \"gcsim: isolate " + firstMaster + "\" and \"gcsim: await promotion of " + firstInLine + "\" before"
		}
		s.Facts[masterIsolated] = false
		return ""
	})),
}, func(ctx context.Context, s *servers, story service.Story, _ scenario.Step) error {
	if s.watched() {
		return s.healMaster(ctx, story)
	}
	s.standby.link.Cut()
	s.standby.link.Tx.Open()
	s.standby.link.Rx.Open()
	if err := story.Meanwhile(ctx, s.standby.replica.name+" to catch up", s.awaitReplica); err != nil {
		return err
	}
	story.Remark(story.Now(), fmt.Sprintf("%s, the replica, has all that %s did", s.standby.replica.name, s.standby.master.name), s.standby.replica.is(history.NodeRunning))
	return nil
})

// promote makes the replica the master. It ends the account of the old master before it goes on with
// that of the new one: what the new one does not know is over.
var promote = service.NewFault(scenario.Form{
	Usage: "promote NODE", Own: "promotes a replica of Redis",
	About: "Makes the replica the master (REPLICAOF NO ONE), whatever the old master does, and has clients find it where they found that one, as behind a proxy.",
	Check: func(s *scenario.Story, _ *scenario.ClientStory, step scenario.Step) string {
		wrong := checkStandby(s, step)
		s.Facts[replicaPromoted] = wrong == ""
		return wrong
	},
}, func(ctx context.Context, s *servers, story service.Story, _ scenario.Step) error {
	old, next := s.standby.master, s.standby.replica
	defer s.account.because(next.name + " does not have its key")()
	at := story.Now()
	clients := s.standby.turn(next)
	old.watch.stop()
	if err := story.AwaitClosed(ctx, "the end of what "+old.name+" told", old.watch.ended); err != nil {
		return err
	}
	err := s.stage.Meanwhile(ctx, next.name+" to be the master", func(starting context.Context) error {
		if err := next.follow(starting, "no", "one"); err != nil {
			return err
		}
		story.Remark(at, next.name+" is promoted: it is the master now, and clients find it where they found "+old.name, next.leads())
		return next.observe(ctx, s.account)
	})
	s.standby.master, s.standby.replica = next, old
	clients.Tx.Open()
	return err
})

// follow has a node be the replica of another one, or of none.
func (n *node) follow(ctx context.Context, host, port string) error {
	client := redis.NewClient(n.options)
	defer client.Close()
	return client.ReplicaOf(ctx, host, port).Err()
}

// rejoin has the old master, which is started again, be the replica of the new one, as a sentinel would.
func (s *servers) rejoin(ctx context.Context, story service.Story) error {
	b := s.standby
	host, port, err := net.SplitHostPort(b.master.options.Addr)
	if err != nil {
		return err
	}
	err = s.stage.Meanwhile(ctx, b.replica.name+" to have all", func(ctx context.Context) error {
		if err := b.replica.follow(ctx, host, port); err != nil {
			return err
		}
		return s.awaitReplica(ctx)
	})
	if err == nil {
		story.Remark(story.Now(), b.replica.name+" is the replica of "+b.master.name+" now")
	}
	return err
}
