package s3_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service/s3"
	"github.com/fencelab/fencelab/internal/service/s3/s3proc/s3test"
)

func needs(t *testing.T) { t.Helper(); s3test.Need(t) }

func TestStories(t *testing.T) {
	needs(t)
	t.Parallel()
	labtest.Tell(t, labtest.Stories(t, services[0]), lab.Options{Services: services})
}

// TestWords: a scenario that cannot be is refused where it stands.
func TestWords(t *testing.T) {
	const story = "title: t\nworld: {s3: {}}\nclients:\n  client1: {lock: /lock, %s}\n  client2: {lock: %s}\nsteps:\n  - client1: lock\n  - %s\nvariants:\n  all:\n    expect: {verdict: safe}\n"
	for _, c := range []struct{ client, other, step, want string }{
		{"by: terraform", "/lock", "client1: unlock", `"by"`},
		{"ahead: yes", "/lock", "client1: unlock", `"ahead"`},
		{"ttl: 1s", "/lock/inner", "client1: unlock", `the lock "/lock/inner" lies within "/lock", and the server keeps an object in a file`},
		{"ttl: 1s", "/lock", "gcsim: kill s3", "kill s3"},
		{"ttl: 1s", "/lock", "client1: begin lock", "begin"},
	} {
		_, err := lab.Language(services).Parse("t.yaml", "t", fmt.Appendf(nil, story, c.client, c.other, c.step))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s, %s: got %v, want an error that says %s", c.client, c.other, c.step, err, c.want)
		}
	}
}

// TestNothingIsJoined: an S3 that is there already has no account.
func TestNothingIsJoined(t *testing.T) {
	labtest.NotJoined(t, s3.Service(), "127.0.0.1:7070", "gcsim starts one")
}
