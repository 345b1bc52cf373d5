package dynamodb_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/dynamodb"
	"github.com/fencelab/fencelab/internal/service/dynamodb/ddbproc/ddbtest"
)

func needs(t *testing.T) { t.Helper(); ddbtest.Need(t) }

func TestStories(t *testing.T) {
	needs(t)
	t.Parallel()
	labtest.Tell(t, labtest.Stories(t, services[0]), lab.Options{Services: services, Shared: labtest.Share(t)})
}

// TestWords: a scenario that cannot be is refused where it stands.
func TestWords(t *testing.T) {
	const story = "title: t\nworld: {dynamodb: {}}\nclients:\n  client1: {lock: /lock, %s}\n  client2: {lock: /lock}\nsteps:\n  - client1: lock\n  - %s\nvariants:\n  all:\n    expect: {verdict: safe}\n"
	for _, c := range []struct{ client, step, want string }{
		{"by: dynamodb", "client1: unlock", `"by"`},
		{"ahead: yes", "client1: unlock", `"ahead"`},
		{"ttl: 1s", "gcsim: kill dynamodb", "kill dynamodb"},
		{"ttl: 1s", "client1: begin lock", "begin"},
		{"by: lease, collector: zgc", "client1: unlock", `lease runs in no JVM: leave "collector" out`},
		{"by: java/dynamodb-lock-client, look: owner", "client1: unlock", `leave "look: owner" and "ahead" out`},
		{"by: java/dynamodb-lock-client, ahead: 1s", "client1: unlock", `leave "look: owner" and "ahead" out`},
	} {
		_, err := lab.Language(services).Parse("t.yaml", "t", fmt.Appendf(nil, story, c.client, c.step))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: got %v, want an error that says %s", c.client, c.step, err, c.want)
		}
	}
}

// TestDataInDynamoDB: a fence that compares nothing is refused, with what to do.
func TestDataInDynamoDB(t *testing.T) {
	for _, c := range []struct{ storage, client, want string }{
		{"in: service", "fence: lock", ""},
		{"in: service", "by: lease-until, fence: mark", ""},
		{"in: service", "by: create", ""},
		{"in: service", "by: create, fence: lock", `create has no token to compare: leave "fence" out, or "by"`},
		{"fencing: off", "fence: lock", `want "storage: {in: service}"`},
		{"in: service", "by: java/dynamodb-lock-client", `leave "storage: {in: service}" out`},
	} {
		file := "title: t\nworld: {dynamodb: {}, storage: {" + c.storage + "}}\nclients:\n  client1: {lock: /lock, " + c.client + "}\n" +
			"steps:\n  - client1: lock\nvariants:\n  v: {expect: {verdict: safe}}\n"
		_, err := lab.Language(services).Parse("t.yaml", "t", []byte(file))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, %s: %v, want %q", c.storage, c.client, err, c.want)
		}
	}
}

// TestNothingIsJoined: a DynamoDB that is there already has no account.
func TestNothingIsJoined(t *testing.T) {
	labtest.NotJoined(t, dynamodb.Service(), "127.0.0.1:8000", "gcsim starts a DynamoDB Local")
}
