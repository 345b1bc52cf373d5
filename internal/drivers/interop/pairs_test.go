package interop_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/clients/java/javatest"
	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/tools/golden"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// packages are ours, by the folder below internal/clients/java of the library whose locks they have.
var packages = map[string]string{"redisson": "redislock", "spring": "redislock", "jdbc": "sqllock", "curator": "zklock", "jetcd": "etcdlock"}

// pairing is a lock of a library in Java, and the one of ours that is the same.
type pairing struct {
	library    string // its folder below internal/clients/java
	original   string // what the library calls its lock
	function   string // that makes ours
	java, ours string // the kinds of both locks, as both sides know them
	servers    []string

	late   string // what Java says of an unlock after the lease
	byHand bool   // nothing renews the lease unless it is told to
	queued bool   // who waits stands in a queue
	once   bool   // its holder cannot take it again
	tokens bool
	// asksAfter is the lease of Java's waiters where it says when they ask again: nothing tells
	// them of the end of another's lease.
	asksAfter time.Duration
}

// on reports whether it is of a library, and checked on a server.
func (one pairing) on(library, server string) bool {
	servers := one.servers
	if !need.Long() {
		servers = servers[:1]
	}
	return one.library == library && slices.Contains(servers, server)
}

var (
	redisServers    = []string{"Redis", embedded}
	databaseServers = []string{"PostgreSQL", "MariaDB"}
)

var pairings = []pairing{
	{library: "redisson", original: "RLock", function: "redislock.Redisson", java: "lock", ours: "lock", servers: redisServers, late: "lost"},
	{library: "redisson", original: "RFencedLock", function: "redislock.RedissonFenced", java: "fenced", ours: "fenced", servers: redisServers, late: "lost", tokens: true},
	{library: "redisson", original: "fair RLock", function: "redislock.RedissonFair", java: "fair", ours: "fair", servers: redisServers, late: "lost", queued: true},
	{library: "redisson", original: "RReadWriteLock, writer", function: "redislock.RedissonReadWrite, writer", java: "write", ours: "write", servers: redisServers, late: "lost"},
	{library: "redisson", original: "RReadWriteLock, reader", function: "redislock.RedissonReadWrite, writer", java: "read", ours: "write", servers: redisServers, late: "lost"},
	{library: "redisson", original: "RReadWriteLock, writer", function: "redislock.RedissonReadWrite, reader", java: "write", ours: "read", servers: redisServers, late: "lost"},
	{library: "redisson", original: "RReadWriteLock, reader", function: "redislock.RedissonReadWrite, reader", java: "read", ours: "read", servers: redisServers},
	{library: "spring", original: "RedisLockRegistry, SPIN_LOCK", function: "redislock.Spring", java: "spin", ours: "spring", servers: redisServers, late: "lost", byHand: true},
	{library: "spring", original: "RedisLockRegistry, PUB_SUB_LOCK", function: "redislock.Spring", java: "pubsub", ours: "spring", servers: redisServers, late: "lost", byHand: true, asksAfter: 3 * brief},
	{library: "jdbc", original: "JdbcLockRegistry", function: "sqllock.Spring", java: "jdbc", ours: "spring", servers: databaseServers, late: "lost", byHand: true},
	{library: "curator", original: "InterProcessMutex", function: "zklock.Mutex", java: "mutex", ours: "mutex", servers: []string{"ZooKeeper"}, late: "unlocked", queued: true},
	{library: "curator", original: "InterProcessReadWriteLock, writer", function: "zklock.New, writer", java: "write", ours: "write", servers: []string{"ZooKeeper"}, late: "unlocked", queued: true},
	{library: "curator", original: "InterProcessReadWriteLock, reader", function: "zklock.New, writer", java: "read", ours: "write", servers: []string{"ZooKeeper"}, late: "unlocked"},
	{library: "curator", original: "InterProcessReadWriteLock, writer", function: "zklock.New, reader", java: "write", ours: "read", servers: []string{"ZooKeeper"}, late: "unlocked"},
	{library: "curator", original: "InterProcessReadWriteLock, reader", function: "zklock.New, reader", java: "read", ours: "read", servers: []string{"ZooKeeper"}},
	{library: "jetcd", original: "Lock", function: "etcdlock.New, writer", java: "lock", ours: "write", servers: []string{"etcd"}, late: "unlocked", queued: true, once: true},
	{library: "jetcd", original: "Lock", function: "etcdlock.New, reader", java: "lock", ours: "read", servers: []string{"etcd"}, late: "unlocked", once: true},
}

// TestPairs: each pairing has its properties on each of its servers, in the short form on the first of
// them, with either side in either part. What was checked in the long form is the table in docs.
func TestPairs(t *testing.T) {
	javatest.Need(t)
	var all results
	t.Run("pairs", func(t *testing.T) {
		for library := range packages {
			t.Run(library, func(t *testing.T) {
				t.Parallel() // they wait more than they do
				for name, start := range servers {
					if slices.ContainsFunc(pairings, func(one pairing) bool { return one.on(library, name) }) {
						t.Run(name, func(t *testing.T) {
							t.Parallel()
							testOn(t, library, name, start(t), all.add)
						})
					}
				}
			})
		}
	})
	if !t.Failed() && all.complete() {
		golden.Check(t, "../../../docs/java-interop.md", all.page(t))
	}
}

// testOn checks the pairings of a library on a server.
func testOn(t *testing.T, library, name string, s server, passed func(result)) {
	for i, one := range pairings {
		if one.on(library, name) {
			t.Run(one.java+" "+one.ours, func(t *testing.T) {
				t.Parallel()
				test(t, one, name, s, func(property int) { passed(result{i, property, name}) })
			})
		}
	}
}

// interop is the program in Java that takes the locks of a library on a server. Its files are in dir.
// Its class path begins with first.
func interop(library, server, dir string, first ...string) []string {
	where, _ := java.Found()
	classPath := strings.Join(append(first, maven.ClassPath(where, library, "interop")), string(filepath.ListSeparator))
	return []string{"java", "-XX:TieredStopAtLevel=1", "-Djava.io.tmpdir=" + dir, "-cp", classPath, "Interop", library, server}
}

// inJava is a side with a library, whose process has env, and of whose class path interop has first.
func inJava(group *proc.Group, name, kind, library string, s server, env []string, first ...string) *side {
	return &side{name: name, kind: kind, start: func() (*proc.Process, error) {
		return group.StartCommand(name, env, interop(library, s.java, group.Dir, first...))
	}}
}

// test checks a pairing on a server, and tells of each property that it has.
func test(t *testing.T, one pairing, on string, s server, passed func(property int)) {
	group := proctest.Group(t)
	java := inJava(group, "java", one.java, one.library, s, []string{"TZ=Asia/Tokyo"}) // no server has this time zone
	java.late, java.asksAfter = one.late, cmp.Or(one.asksAfter, long)
	sides := []*side{
		java,
		{name: "ours", kind: one.ours, late: "lost", asksAfter: long, start: func() (*proc.Process, error) {
			return group.Start("ours", nil, ourRole, packages[one.library], s.ours)
		}},
	}
	answers := make(chan string, 100)
	for i, checked := range properties {
		if !checked.applies(one, on) {
			continue
		}
		ok := t.Run(checked.name, func(t *testing.T) {
			p := &pair{T: t, pairing: one, queue: s.queue, answers: answers}
			for a := range sides {
				// A name that no other check has: all are on one server.
				lock := "/" + strings.ReplaceAll(fmt.Sprint(one.java, " ", one.ours, " ", checked.name, " ", sides[a].name), " ", "-")
				checked.check(p.user(sides[a], lock), p.user(sides[1-a], lock))
			}
		})
		if !ok {
			return // a side may wait for ever
		}
		passed(i)
	}
}
