package redis

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// A node has a small memory, which a story can fill.
const (
	memory = 8 << 20

	fillerKey  = "fencelab_filler:"
	fillerSize = 256 << 10
	fillerTTL  = time.Hour // like a cache's
)

// evictions are what a node can do when its memory is full, by Redis's names.
var evictions = map[string]string{
	evictionNone:     "noeviction",
	evictionVolatile: "volatile-lru",
	evictionAllkeys:  "allkeys-lru",
}

var fill = service.NewFault(scenario.Form{
	Usage: "fill NODE", Own: "fills the memory of Redis",
	About: "Writes other keys, as a cache would, until the node's memory is full: until it has evicted all keys of locks that it may evict, or takes no more.",
	Check: nodes.Check(nil,
		service.NodeRule{Fact: service.NodeDead, Is: true, Words: "%s is dead, and takes nothing"},
		service.NodeRule{Fact: service.NodeStill, Is: true, Words: "%s stands still, and takes nothing"},
		service.NodeRule{Fact: replicaPromoted, Is: true, Words: "%s is not the master any more, and no lock is lost with what it evicts"}),
}, func(ctx context.Context, s *servers, story service.Story, step scenario.Step) error {
	n := s.named(step.Node)
	defer s.account.because(n.name + " has evicted its key")()
	evicted, err := service.Meanwhile(ctx, story, "the memory of "+n.name+" to be full", func(ctx context.Context) ([]string, error) {
		return s.fill(ctx, n)
	})
	switch {
	case redis.IsOOMError(err):
		story.Remark(story.Now(), n.name+"'s memory is full: it takes no more, and evicts nothing")
		return nil
	case err == nil:
		story.Remark(story.Now(), fmt.Sprintf("%s's memory is full: it has evicted %s", n.name, cmp.Or(strings.Join(evicted, " and "), "no key of a lock")))
	}
	return err
})

// fill waits for the account of what the node evicts, and returns the keys of locks among
// it. The error is Redis's where it takes no more.
func (s *servers) fill(ctx context.Context, n *node) (evicted []string, err error) {
	client := redis.NewClient(n.options)
	defer client.Close()
	text := strings.Repeat("x", fillerSize)
	eviction := s.stage.Plan().World.Text(settingEviction)
	there := s.account.evictable(n.place, eviction)
	left := slices.Clone(there)
	for i := 0; i < memory/fillerSize || len(left) > 0; i++ {
		if err := client.Set(ctx, fmt.Sprint(fillerKey, i), text, fillerTTL).Err(); err != nil {
			return nil, err
		}
		now := s.account.evictable(n.place, eviction)
		left = slices.DeleteFunc(left, func(key string) bool { return !slices.Contains(now, key) })
	}
	return there, nil
}

// evictable are the keys of locks that a node holds, and may evict.
func (a *account) evictable(node int, eviction string) (keys []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, lock := range a.locks {
		for _, key := range watched(lock) {
			v := a.nodes[node][key]
			if v != nil && (eviction == evictionAllkeys || eviction == evictionVolatile && !v.until.IsZero()) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
