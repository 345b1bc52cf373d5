package redis_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/redis"
)

// story is a scenario of a world of Redis, with a client that takes a lock, and steps of
// gcsim's.
func story(world, client string, steps ...string) (*scenario.Scenario, error) {
	text := fmt.Sprintf("title: t\nworld: {redis: {%s}}\nclients: {client1: {lock: /l%s}}\nsteps:\n  - client1: lock\n", world, client)
	for _, step := range steps {
		text += "  - gcsim: " + step + "\n"
	}
	text += "variants: {only: {expect: {verdict: safe}}}\n"
	return lab.Language([]*service.Service{redis.Service()}).Parse("t.yaml", "t", []byte(text))
}

// watched are the settings of nodes that sentinels watch.
const watched = "replicas: 2, sentinels: 3"

// ofCluster are the settings of a cluster, and libraryLock those of a client of it.
const (
	ofCluster   = "nodes: 3, cluster: true"
	libraryLock = ", by: redislock, votes: cluster"
)

// TestWhatCannotBe: settings that do not go together, and steps that cannot happen.
func TestWhatCannotBe(t *testing.T) {
	for name, tt := range map[string]struct {
		world, client string
		steps         []string
		want          string // "": it can be
	}{
		"a replica of several":    {"replicas: 1, nodes: 3", "", nil, `want "nodes: 1"`},
		"WAIT without a replica":  {"", ", wait: 1", nil, `want "replicas: 1"`},
		"WAIT with one":           {"replicas: 1", ", wait: 1", nil, ""},
		"no replica to promote":   {"", "", []string{"promote redis2"}, `it needs "replicas: 1"`},
		"no replica to isolate":   {"", "", []string{"isolate redis2"}, `it needs "replicas: 1"`},
		"the master is promoted":  {"replicas: 1", "", []string{"promote redis1"}, "the replica is redis2"},
		"the master is isolated":  {"replicas: 1", "", []string{"isolate redis1"}, "the replica is redis2"},
		"promoted twice":          {"replicas: 1", "", []string{"promote redis2", "promote redis2"}, "redis2 is promoted already"},
		"isolated twice":          {"replicas: 1", "", []string{"isolate redis2", "isolate redis2"}, "redis2 is isolated already"},
		"isolated anew":           {"replicas: 1", "", []string{"isolate redis2", "heal redis2", "isolate redis2"}, ""},
		"healed without cause":    {"replicas: 1", "", []string{"heal redis2"}, "redis2 is not isolated here"},
		"a master that is dead":   {"replicas: 1", "", []string{"kill redis1", "isolate redis2"}, "redis1, its master, does not run here"},
		"a master that is still":  {"replicas: 1", "", []string{"isolate redis2", "pause redis1", "heal redis2"}, "redis1, its master, does not run here"},
		"a master that is back":   {"replicas: 1", "", []string{"kill redis1", "restart redis1", "isolate redis2"}, ""},
		"isolated when promoted":  {"replicas: 1", "", []string{"promote redis2", "isolate redis2"}, "redis2 is promoted already"},
		"the dead are filled":     {"", "", []string{"kill redis1", "fill redis1"}, "redis1 is dead"},
		"those stopped are":       {"", "", []string{"pause redis1", "fill redis1"}, "redis1 stands still"},
		"an old master is filled": {"replicas: 1", "", []string{"promote redis2", "fill redis1"}, "redis1 is not the master any more"},
		"sentinels alone":         {"sentinels: 3", "", nil, `want both "replicas: 2" and "sentinels: 3"`},
		"two replicas alone":      {"replicas: 2", "", nil, `want both "replicas: 2" and "sentinels: 3"`},
		"all refuse to write":     {"replicas: 1, min-replicas: 1", "", nil, `want "replicas: 2" and "sentinels: 3"`},
		"beside one of one":       {"", ", beside: redis1", nil, `leave "beside" out`},
		"beside a master":         {watched, ", beside: redis1", []string{"isolate redis1", "await promotion of redis2", "heal redis1"}, ""},
		"nobody promotes":         {"replicas: 1", "", []string{"await promotion of redis2"}, "no sentinels watch the nodes"},
		"promoted by hand":        {watched, "", []string{"promote redis2"}, "want a step \"gcsim: await promotion of redis2\""},
		"promoted without cause":  {watched, "", []string{"await promotion of redis2"}, `it needs a step "gcsim: isolate redis1" before`},
		"another is promoted":     {watched, "", []string{"isolate redis1", "await promotion of redis3"}, "about redis2, and not about redis3"},
		"sentinels promote twice": {watched, "", []string{"isolate redis1", "await promotion of redis2", "await promotion of redis2"}, "redis2 is promoted already"},
		"a watched replica":       {watched, "", []string{"isolate redis2"}, "about redis1, and not about redis2"},
		"the master is alone":     {watched, "", []string{"isolate redis1", "isolate redis1"}, "redis1 is isolated already"},
		"healed too early":        {watched, "", []string{"isolate redis1", "heal redis1"}, `"gcsim: await promotion of redis2" before`},
		"a watched one is killed": {watched, "", []string{"kill redis1"}, "a story can only isolate redis1"},
		"a cluster of one":        {"cluster: true", "", nil, `want "nodes: 3"`},
		"a cluster by its nodes":  {ofCluster, ", by: redlock", nil, `clients with a recipe of package redislock and "votes: cluster"`},
		"a lock of one node":      {ofCluster, ", by: redlock-naive, votes: cluster", nil, `clients with a recipe of package redislock and "votes: cluster"`},
		"votes of no cluster":     {"nodes: 3", ", by: redlock, votes: cluster", nil, `elsewhere clients without "votes"`},
		"one of a cluster asks":   {ofCluster, ", by: redislock, votes: cluster, token: read-again", nil, `leave "look" and "token" out`},
		"no cluster has no slot":  {"nodes: 3", ", by: redlock", []string{"move all keys of /lock"}, `it needs "nodes: 3" and "cluster: true"`},
		"a slot moves twice":      {ofCluster, libraryLock, []string{"move some keys of /lock", "move some keys of /lock"}, "the slot of /lock moves already"},
		"a slot moves once more":  {ofCluster, libraryLock, []string{"move all keys of /lock", "move some keys of /lock"}, "the slot of /lock has moved already"},
		"the dead carry nothing":  {ofCluster, libraryLock, []string{"kill redis2", "move all keys of /lock"}, "redis2 is dead, and carries no keys over"},
		"a slot that moves":       {ofCluster, libraryLock, []string{"move some keys of /lock", "move all keys of /lock"}, ""},
		"a cluster":               {ofCluster, ", by: redlock, votes: cluster", []string{"kill redis1", "restart redis1"}, ""},
		"a master is filled":      {"replicas: 1", "", []string{"fill redis1", "promote redis2"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := story(tt.world, tt.client, tt.steps...)
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

// TestLeftOut: replicas and a memory with a bound are left out on the embedded server and
// on servers of others, by name.
func TestLeftOut(t *testing.T) {
	embedded, _ := at(t, "embedded")
	for _, tt := range []struct{ world, client, step, lacks, own string }{
		{"", "", "pause redis1", "", "stops nodes of Redis"},
		{"replicas: 1", "", "pause redis1", "needs redis-server", "wants a Redis with a replica"},
		{"replicas: 1", "", "isolate redis2", "needs redis-server", "isolates a replica"},
		{"replicas: 1", "", "promote redis2", "needs redis-server", "promotes a replica"},
		{watched, "", "isolate redis1", "needs redis-server", "wants a Redis with a replica"},
		{ofCluster, ", by: redlock, votes: cluster", "kill redis1", "needs redis-server", "wants a Redis Cluster"},
		{ofCluster, libraryLock, "move all keys of /lock", "needs redis-server", "moves a slot of a Redis Cluster"},
		{"eviction: volatile", "", "pause redis1", "needs redis-server", "the eviction volatile"},
		{"", "", "fill redis1", "needs redis-server", "fills the memory"},
	} {
		s, err := story(tt.world, tt.client, tt.step)
		if err != nil {
			t.Fatal(err)
		}
		v := &s.Variants[0]
		if lacks := embedded.Lacks(v); !strings.Contains(lacks, tt.lacks) || (lacks == "") != (tt.lacks == "") {
			t.Errorf("%s, %s: the embedded server lacks %q, want %q", tt.world, tt.step, lacks, tt.lacks)
		}
		if !strings.Contains(v.Own, tt.own) {
			t.Errorf("%s, %s: needs a Redis of its own because it %q, want %q", tt.world, tt.step, v.Own, tt.own)
		}
	}
}
