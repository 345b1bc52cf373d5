package redisproc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// Slots is how many a Redis Cluster has. Each key is in one of them, and each slot is one master's.
const Slots = 16384

// After which time a master that says nothing is taken for dead (cluster-node-timeout). A master that joins takes no
// writes for so long, or for 5 s if that is less; later a busy machine must not make it dead.
const (
	joining = time.Second
	joined  = 15 * time.Second
)

// Cluster starts a Redis Cluster of so many masters in g, by a real Redis with some arguments, and returns when each
// master knows who has which slots. It ends with the group.
func Cluster(ctx context.Context, g *proc.Group, program string, masters int, args ...string) (all []*Server, err error) {
	buses, err := ports.Free(masters)
	if err != nil {
		return nil, err
	}
	for i, bus := range buses {
		_, port, err := net.SplitHostPort(bus)
		if err != nil {
			return nil, err
		}
		s, err := Start(ctx, g, program, append(args, "--cluster-enabled", "yes", "--cluster-port", port,
			"--cluster-node-timeout", fmt.Sprint(joining.Milliseconds()),
			"--cluster-config-file", filepath.Join(g.Dir, fmt.Sprint("nodes", i+1, ".conf")))...)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
		if err := s.join(ctx, i, masters, all[0].Addr, buses[0]); err != nil {
			return nil, err
		}
	}
	return all, AwaitCluster(ctx, masters, all...)
}

// AwaitCluster returns when some nodes of a cluster know that it is whole. Then they take writes.
func AwaitCluster(ctx context.Context, masters int, nodes ...*Server) error {
	for _, s := range nodes {
		client := s.connect()
		defer client.Close()
		if err := s.await(ctx, "join the cluster", func(ctx context.Context) error { return whole(ctx, client, masters) }); err != nil {
			return err
		}
		if err := client.ConfigSet(ctx, "cluster-node-timeout", fmt.Sprint(joined.Milliseconds())).Err(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) connect() *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: -1})
}

// share is which slots a master has at first.
func share(place, masters int) (first, last int) {
	return place * Slots / masters, (place+1)*Slots/masters - 1
}

// Tag is one in braces: the keys with it are a master's of a cluster.
func Tag(ctx context.Context, all []*Server, place int) (string, error) {
	client := all[0].connect()
	defer client.Close()
	first, last := share(place, len(all))
	for i := 0; ; i++ {
		tag := fmt.Sprintf("{%d}", i)
		if slot, err := client.ClusterKeySlot(ctx, tag).Result(); err != nil || first <= int(slot) && int(slot) <= last {
			return tag, err
		}
	}
}

// join gives a master its share of the slots, and has it meet the first one.
func (s *Server) join(ctx context.Context, place, masters int, first, bus string) error {
	host, port, err := net.SplitHostPort(first)
	if err != nil {
		return err
	}
	_, busPort, err := net.SplitHostPort(bus)
	if err != nil {
		return err
	}
	client := s.connect()
	defer client.Close()
	low, high := share(place, masters)
	errs := []error{
		client.Do(ctx, "cluster", "set-config-epoch", place+1).Err(),
		client.ClusterAddSlotsRange(ctx, low, high).Err(),
	}
	if place > 0 {
		errs = append(errs, client.Do(ctx, "cluster", "meet", host, port, busPort).Err())
	}
	return errors.Join(errs...)
}

// whole is an error unless a node knows all masters and their slots.
func whole(ctx context.Context, client *redis.Client, masters int) error {
	info, err := client.ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	for _, want := range []string{"cluster_state:ok", "cluster_slots_ok:" + fmt.Sprint(Slots), "cluster_size:" + fmt.Sprint(masters)} {
		if !strings.Contains(info, want) {
			return fmt.Errorf("the cluster is not whole: want %s", want)
		}
	}
	return nil
}

// Moving is a slot that goes from one master to another, in three steps: both are told that it does, its keys are
// carried over, and both are told that it has.
type Moving struct {
	Slot     int
	From, To *Server
}

// Find is the move of the slot of a key from the master that has it to another one of a cluster.
func Find(ctx context.Context, all []*Server, key string) (Moving, error) {
	client := all[0].connect()
	defer client.Close()
	slot, err := client.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return Moving{}, err
	}
	owner := 0
	for _, last := share(owner, len(all)); last < int(slot); _, last = share(owner, len(all)) {
		owner++
	}
	return Moving{int(slot), all[owner], all[(owner+1)%len(all)]}, nil
}

// Begin tells both masters. From then on the old one answers ASK to what is about keys that it does not have.
func (m Moving) Begin(ctx context.Context) error { return m.tell(ctx, "importing", "migrating") }

// Carry carries some keys over, or all that are left. A key goes with its time to live, in one step.
func (m Moving) Carry(ctx context.Context, keys ...string) error {
	from := m.From.connect()
	defer from.Close()
	if len(keys) == 0 {
		var err error
		if keys, err = from.ClusterGetKeysInSlot(ctx, m.Slot, Slots).Result(); err != nil || len(keys) == 0 {
			return err
		}
	}
	host, port, err := net.SplitHostPort(m.To.Addr)
	if err != nil {
		return err
	}
	migrate := []any{"migrate", host, port, "", 0, startDeadline.Milliseconds(), "keys"}
	for _, key := range keys {
		migrate = append(migrate, key)
	}
	return from.Do(ctx, migrate...).Err()
}

// End tells both masters that the new one has the slot. From then on the old one answers MOVED.
func (m Moving) End(ctx context.Context) error { return m.tell(ctx, "node", "node") }

func (m Moving) tell(ctx context.Context, new, old string) error {
	from, to := m.From.connect(), m.To.connect()
	defer from.Close()
	defer to.Close()
	fromID, err := from.Do(ctx, "cluster", "myid").Text()
	if err != nil {
		return err
	}
	toID, err := to.Do(ctx, "cluster", "myid").Text()
	if err != nil {
		return err
	}
	source := fromID // the new master is told where the slot comes from, and both at the end where it is
	if new == "node" {
		source = toID
	}
	return errors.Join(to.Do(ctx, "cluster", "setslot", m.Slot, new, source).Err(),
		from.Do(ctx, "cluster", "setslot", m.Slot, old, toID).Err())
}
