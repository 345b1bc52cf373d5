package hazelcast_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/hazelcast"
)

// TestStories tells them on members that are shared where nothing is done to them.
func TestStories(t *testing.T) {
	javatest.Need(t)
	shared := labtest.Share(t)
	labtest.Tell(t, labtest.Stories(t, services[0]), lab.Options{Services: services, Shared: shared})
}

// story is one with a world and two clients. Its first line is that of the world.
func story(world, client1, client2, steps string) []byte {
	return fmt.Appendf(nil, "world: {%s}\nclients:\n  client1: {%s}\n  client2: {%s}\ntitle: t\nsteps: [%s]\nvariants: {only: {control: true, expect: {verdict: corrupted}}}\n", world, client1, client2, steps)
}

// TestWords: a scenario that cannot be is refused where it stands.
func TestWords(t *testing.T) {
	const world, client, steps = "hazelcast: {}", "lock: /lock, ttl: 5s", "{client1: lock}"
	for _, tt := range []struct{ world, client1, client2, steps, want string }{
		{world, client, client, steps, ""},
		{world, client, "lock: /lock", steps, `want "ttl: 5s", or another "session" below world`},
		{"hazelcast: {session: 30s}", client, client, steps, `t.yaml:3:31: the members of Hazelcast choose for how long a session lasts, and not the client: want "ttl: 30s"`},
		{"hazelcast: {session: 1s}", client, client, steps, `"session": want a duration in whole seconds from 2s`},
		{world, client, "lock: /lock@other, ttl: 5s", steps, "want names without an @"},
		{world, "lock: /lock@other, ttl: 5s", "lock: /lock@other, ttl: 5s", steps, ""},
		{world, client, client, "{gcsim: kill hazelcast4}", "there is no hazelcast4"},
		{world, client, client, "{gcsim: kill hazelcast1}, {gcsim: restart hazelcast}, {gcsim: kill hazelcast1}, {client1: lock}", ""},
		{world, client, client, "{gcsim: kill hazelcast1}, {gcsim: kill hazelcast1}", "hazelcast1 is dead already"},
	} {
		_, err := lab.Language(services).Parse("t.yaml", "t", story(tt.world, tt.client1, tt.client2, tt.steps))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s, %s, %s, %s: %v, want %q", tt.world, tt.client1, tt.client2, tt.steps, err, tt.want)
		}
	}
}

// TestNothingIsJoined: a Hazelcast that is there already has no account, and gcsim is no client
// of any.
func TestNothingIsJoined(t *testing.T) {
	labtest.NotJoined(t, hazelcast.Service(), "127.0.0.1:5701", "gcsim starts members that do")
	if err := hazelcast.Service().NoClient; err == nil || !strings.Contains(err.Error(), "a library in a process of its own") {
		t.Errorf("why gcsim is no client: %v", err)
	}
}

// TestLateUnlock: docs/java.md has what the library says of an unlock that comes too late.
func TestLateUnlock(t *testing.T) {
	javatest.LateUnlocks(t, "testdata/late/*.yaml", lab.Options{Services: services, Shared: labtest.Share(t)})
}
