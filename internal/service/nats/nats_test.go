package nats_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/nats"
	"github.com/fencelab/fencelab/internal/service/nats/natsproc/natstest"
)

func needs(t *testing.T) { t.Helper(); natstest.Need(t) }

func TestStories(t *testing.T) {
	needs(t)
	t.Parallel()
	labtest.Tell(t, labtest.Stories(t, services[0]), lab.Options{Services: services})
}

// TestWords: a scenario that cannot be is refused where it stands.
func TestWords(t *testing.T) {
	const story = "title: t\nworld: {nats: {%s}}\nclients:\n  client1: {lock: /lock, %s}\nsteps:\n  - client1: lock\n  - %s\nvariants:\n  all:\n    expect: {verdict: safe}\n"
	for _, c := range []struct{ world, client, step, want string }{
		{"members: 2", "ttl: 1s", "client1: unlock", `"members"`},
		{"bucket: disk", "ttl: 1s", "client1: unlock", `"bucket"`},
		{"", "member: follower", "client1: unlock", `NATS has one member, and so no follower: it needs "members: 3"`},
		{"", "ttl: 1s", "gcsim: kill nats2", "there is no nats2"},
		{"", "ttl: 1s", "gcsim: pause leader", `NATS has 1 members, and nobody else could lead: it needs "members: 3"`},
		{"", "ttl: 1s", "client1: begin lock", "begin"},
	} {
		_, err := lab.Language(services).Parse("t.yaml", "t", fmt.Appendf(nil, story, c.world, c.client, c.step))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s, %s: got %v, want an error that says %s", c.world, c.client, c.step, err, c.want)
		}
	}
}

// TestNothingIsJoined: a NATS that is there already has no account.
func TestNothingIsJoined(t *testing.T) {
	labtest.NotJoined(t, nats.Service(), "127.0.0.1:4222", "gcsim makes one in members that it starts")
}
