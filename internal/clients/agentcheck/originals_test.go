package agentcheck_test

import (
	"os"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/agentcheck"
	"github.com/fencelab/fencelab/internal/clients/golang"
	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/clients/nodejs"
	"github.com/fencelab/fencelab/internal/clients/original/originaltest"
	"github.com/fencelab/fencelab/internal/clients/python"
	"github.com/fencelab/fencelab/internal/clients/rust"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd"
	"github.com/fencelab/fencelab/internal/service/postgres"
	"github.com/fencelab/fencelab/internal/service/postgres/postgresproc/postgrestest"
	"github.com/fencelab/fencelab/internal/service/redis"
	"github.com/fencelab/fencelab/internal/service/zookeeper"
	"github.com/fencelab/fencelab/internal/service/zookeeper/zkproc"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// ofOneLock are checks that depend on a library.
var ofOneLock = []string{"WaitEnds", "TenureIsTheServices", "LateWriteIsSent", "LateUnlockFreesNothing"}

// others are the libraries of a language but the first one.
const others = "to check clients with the other libraries"

// TestJava: a client in Java obeys the protocol, with a token and without.
func TestJava(t *testing.T) {
	javatest.Need(t)
	obeys(t, redis.Service(), nil, java.Prefix+"redisson-fenced")
	need.Night(t, others)
	obeys(t, redis.Service(), nil, java.Prefix+"redisson", ofOneLock[1:3]...)
	obeys(t, redis.Service(), nil, java.Prefix+"shedlock-redis-safe", ofOneLock...)
	postgrestest.Need(t, "to check a client with ShedLock")
	obeys(t, postgres.Service(), nil, java.Prefix+"shedlock", ofOneLock...)
}

// TestPython: so does one in Python, with each library.
func TestPython(t *testing.T) {
	originaltest.Need(t, python.Name)
	obeys(t, redis.Service(), nil, python.Prefix+"redis-py")
	need.Night(t, others)
	for _, by := range []string{"redis-py-reacquired", "python-redis-lock", "python-redis-lock-renewed"} {
		obeys(t, redis.Service(), nil, python.Prefix+by, ofOneLock...)
	}
	obeys(t, redis.Service(), setting.Values{"nodes": "3"}, python.Prefix+"pottery", ofOneLock...)
	obeys(t, etcd.Service(), nil, python.Prefix+"etcd3", ofOneLock[1:]...) // whose waiter fails
}

// TestNode: so does one in JavaScript, with each library.
func TestNode(t *testing.T) {
	originaltest.Need(t, nodejs.Name)
	obeys(t, redis.Service(), nil, nodejs.Prefix+"redis-semaphore")
	need.Night(t, others)
	obeys(t, redis.Service(), nil, nodejs.Prefix+"redis-semaphore-lease", ofOneLock...)
	for _, by := range []string{"redlock", "redlock-4", "sesamecare-redlock"} {
		obeys(t, redis.Service(), setting.Values{"nodes": "3"}, nodejs.Prefix+by, ofOneLock...)
	}
	obeys(t, etcd.Service(), nil, nodejs.Prefix+"etcd3", ofOneLock...)
}

// TestGo: so does one in Go, with each library.
func TestGo(t *testing.T) {
	originaltest.Need(t, golang.Name)
	obeys(t, redis.Service(), nil, golang.Prefix+"bsm-redislock")
	need.Night(t, others)
	obeys(t, redis.Service(), nil, golang.Prefix+"bsm-redislock-refreshed", ofOneLock...)
	for _, by := range []string{"redsync", "redsync-extended", "redsync-setnx"} {
		obeys(t, redis.Service(), setting.Values{"nodes": "3"}, golang.Prefix+by, ofOneLock...)
	}
	obeys(t, etcd.Service(), nil, golang.Prefix+"election", ofOneLock...)
}

// TestRust: so does one in Rust, with each library.
func TestRust(t *testing.T) {
	originaltest.Need(t, rust.Name)
	obeys(t, redis.Service(), setting.Values{"nodes": "3"}, rust.Prefix+"rslock", ofOneLock...)
	obeys(t, etcd.Service(), nil, rust.Prefix+"etcd-client")
}

// TestZooKeeper: so do those with kazoo and with Spring's registry, which need members of ZooKeeper.
func TestZooKeeper(t *testing.T) {
	need.Night(t, others)
	originaltest.Need(t, python.Name)
	javatest.Need(t)
	if where, bring := zkproc.Found(); where == "" {
		need.Missing(t, "ZooKeeper", "to check clients of it", "go run ./cmd/"+bring)
	}
	obeys(t, zookeeper.Service(), nil, python.Prefix+"kazoo", ofOneLock...)
	obeys(t, zookeeper.Service(), nil, java.Prefix+"spring-zookeeper", ofOneLock...)
}

// obeys plays the checks, all where none is named, with gcsim's own client and the recipe.
func obeys(t *testing.T, s *service.Service, world setting.Values, by string, only ...string) {
	t.Run(by, func(t *testing.T) {
		t.Parallel()
		report, err := agentcheck.Judge(t.Context(), agentcheck.Options{
			Command: []string{os.Args[0], "client", "agent"}, Service: s, World: world, Settings: setting.Values{service.By: by},
			Exe: os.Args[0], Patience: time.Minute, Only: only,
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range report.Results {
			if r.Outcome == agentcheck.Fails || r.Outcome == agentcheck.NotJudged {
				t.Errorf("%s: %s: %s %q", r.Check, r.Outcome, r.Why, r.Said)
			}
		}
	})
}
