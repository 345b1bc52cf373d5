package redis

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// standby is what the only node has beside it so that another can follow it: its replica, the network
// between the two, and an address at which clients find the one that is the master, as behind a proxy.
type standby struct {
	master, replica *node
	link            *network.Link // from the replica to the master, before it is promoted
	door            *network.Listener

	mu   sync.Mutex
	lead *network.Link // from the door to the master
}

// standBy starts a replica of the only node, and returns when it has what that has.
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
	if b.replica, err = s.start(ctx, program, 1, "--replicaof", host+" "+port); err != nil {
		return err
	}
	b.replica.place = master.place // it is in the master's place, if ever it is
	s.standby = b
	return s.awaitReplica(ctx)
}

func (b *standby) close() {
	if b.door != nil {
		b.door.Close()
	}
	b.link.Close()
	b.lead.Close()
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

// awaitReplica returns when the replica has all that the master has done, and is told of what comes. What it
// acknowledges first can be a snapshot, after which it may hear nothing until it has said so once more.
func (s *servers) awaitReplica(ctx context.Context) error {
	client := redis.NewClient(s.standby.master.options)
	defer client.Close()
	conn := client.Conn() // WAIT is about what one connection wrote
	defer conn.Close()
	for acknowledged := 0; acknowledged < 2; {
		if err := conn.Set(ctx, marker, "", time.Second).Err(); err != nil {
			return err
		}
		have, err := conn.Wait(ctx, 1, time.Second).Result()
		if err != nil {
			return err
		}
		acknowledged += int(have)
	}
	return nil
}

// What a story says of the replica.
const (
	replicaIsolated = "the replica is isolated"
	replicaPromoted = "the replica is promoted"
)

// checkReplica makes the Check of a Form about the replica, while the master runs. The story
// must not have promoted it, and it must be isolated or not; then is is so.
func checkReplica(needs bool, otherwise string) func(*scenario.Story, *scenario.ClientStory, scenario.Step) string {
	return func(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
		master := nodes.Name + "1"
		switch wrong := checkStandby(s, step); {
		case wrong != "":
			return wrong
		case s.Facts[fmt.Sprintf(service.NodeDead, master)] || s.Facts[fmt.Sprintf(service.NodeStill, master)]:
			return master + ", its master, does not run here: nothing passes between them as it is"
		case s.Facts[replicaIsolated] != needs:
			return step.Node + otherwise
		}
		s.Facts[replicaIsolated] = !needs
		return ""
	}
}

// checkStandby says why a step is not about a replica.
func checkStandby(s *scenario.Story, step scenario.Step) string {
	replica := nodes.Name + "2"
	switch {
	case s.Variant.World.Settings.Number(settingReplicas) == 0:
		return "Redis has no replica: it needs \"replicas: 1\""
	case step.Node != replica:
		return fmt.Sprintf("%s is no replica: the replica is %s", step.Node, replica)
	case s.Facts[replicaPromoted]:
		return replica + " is promoted already, and is the master"
	}
	return ""
}

// isolateReplica has a replica know nothing of what its master does from now on.
var isolateReplica = service.NewFault(scenario.Form{
	Usage: "isolate NODE", Own: "isolates a replica of Redis",
	About: "Nothing passes between a replica and its master, until \"heal NODE\". The replica has all that the master did before. Clients reach the master.",
	Check: checkReplica(false, " is isolated already"),
}, func(ctx context.Context, s *servers, story service.Story, _ scenario.Step) error {
	if err := story.Meanwhile(ctx, s.standby.replica.name+" to have all", s.awaitReplica); err != nil {
		return err
	}
	s.standby.link.Tx.Shut()
	s.standby.link.Rx.Shut()
	story.Remark(story.Now(), fmt.Sprintf("%s, the replica, hears nothing of %s from now on", s.standby.replica.name, s.standby.master.name))
	return nil
})

var healReplica = service.NewFault(scenario.Form{
	Usage: "heal NODE",
	About: "The isolated replica and its master reach each other again. Over when the replica has all that the master did.",
	Check: checkReplica(true, " is not isolated here: it needs a step \"gcsim: isolate redis2\" before"),
}, func(ctx context.Context, s *servers, story service.Story, _ scenario.Step) error {
	s.standby.link.Cut()
	s.standby.link.Tx.Open()
	s.standby.link.Rx.Open()
	if err := story.Meanwhile(ctx, s.standby.replica.name+" to catch up", s.awaitReplica); err != nil {
		return err
	}
	story.Remark(story.Now(), fmt.Sprintf("%s, the replica, has all that %s did", s.standby.replica.name, s.standby.master.name))
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
		story.Remark(at, next.name+" is promoted: it is the master now, and clients find it where they found "+old.name)
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
