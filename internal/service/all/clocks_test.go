package all_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

// Who says, by the own clock, that the lease of a dead holder is over.
const (
	ofService = "the service's clock"
	ofClient  = "the client's clock"
	ofAsker   = "the clock of who asks, which measures a time, and is compared with no other"
	ofNobody  = "no clock: the connection, the session, or nobody, ends it, or it keeps nobody out"
)

// clocks has each recipe of each service.
var clocks = map[string]map[string]string{
	"etcd": {"etcdlock": ofService, "java/jetcd": ofService},
	"redis": {
		"setnx-expire": ofService, "multi-expire": ofService, "lua": ofService, "set-nx-px": ofService, "fenced": ofService, "token-apart": ofService, "listen-only": ofService,
		"redisson-read-short": ofService, "redislock": ofService, "redislock-fair": ofService, "redislock-reentrant": ofService,
		"redisson": ofService, "redisson-spin": ofService, "redisson-fenced": ofService, "redisson-reentrant": ofService,
		"redisson-fair": ofService, // only places in the queue end by the clocks of clients
		"redisson-read": ofService, "redisson-write": ofService, "redisson-multi": ofService, "spring": ofService,
		"java/redisson": ofService, "java/redisson-lease": ofService, "java/redisson-fenced": ofService, "java/redisson-fenced-lease": ofService,
		"java/redisson-reentrant": ofService, "java/redisson-spin": ofService, "java/redisson-fair": ofService, "java/redisson-read": ofService,
		"java/redisson-write": ofService, "java/redisson-redlock": ofService, "java/redisson-multi": ofService,
		"java/spring": ofService, "java/spring-renewed": ofService, "java/spring-pubsub": ofService,
		"redlock": ofService, "redlock-naive": ofService, "redlock-patient": ofService,
	},
	"postgres": {
		"token": ofService, "int-lock": ofClient, "int-lock-db-clock": ofService, "java/spring-jdbc": ofClient,
		"for-update": ofNobody, "for-update-naive": ofNobody, "advisory": ofNobody, "advisory-transaction": ofNobody,
		"version": ofNobody, "status": ofNobody,
	},
	"mariadb": {
		"token": ofService, "int-lock": ofClient, "int-lock-db-clock": ofService, "java/spring-jdbc": ofClient,
		"for-update": ofNobody, "for-update-naive": ofNobody, "get-lock": ofNobody, "version": ofNobody, "status": ofNobody,
	},
	"sqlite": {"token": ofService, "int-lock": ofClient, "int-lock-db-clock": ofService, "immediate": ofNobody},
	"zookeeper": {
		"sequential": ofService, "unprotected": ofService, "herd": ofService, "go-zookeeper": ofService, "curator-read": ofService,
		"curator-write": ofService, "zklock": ofService, "zklock-read": ofService,
		"java/curator": ofService, "java/curator-read": ofService, "java/curator-write": ofService,
	},
	"elasticsearch": {
		"global": ofNobody, "global-guarded": ofAsker, "global-guarded-read": ofAsker, "document": ofNobody, "bulk": ofNobody,
		"shared": ofNobody, "exclusive": ofNobody, "tree": ofNobody, "versions": ofNobody,
	},
	"hazelcast": {"java/hazelcast": ofService},
}

// TestWhoseClock: a client whose clock is ahead holds the lock so much longer where its recipe
// compares with this clock, and only there.
func TestWhoseClock(t *testing.T) {
	const ahead = time.Minute
	for _, s := range all.List {
		names := recipesOf(s)
		for _, gone := range slices.Sorted(maps.Keys(clocks[s.Name])) {
			if !slices.Contains(names, gone) {
				t.Errorf("%s has no recipe %s", s.Name, gone)
			}
		}
		for _, by := range names {
			clock, known := clocks[s.Name][by]
			if !known {
				t.Errorf("whose clock ends a lease of %s %s?", s.Name, by)
			}
			right, wrong := boundOf(s, by, 0), boundOf(s, by, ahead)
			if longer := wrong - right; longer != map[string]time.Duration{ofClient: ahead}[clock] {
				t.Errorf("%s %s, %s: the bound is %v, and of a client that is %v ahead %v", s.Name, by, clock, right, ahead, wrong)
			}
		}
	}
}

// recipesOf are the names of a service's recipes.
func recipesOf(s *service.Service) []string {
	by, _ := setting.Find(s.Client, service.By)
	return by.Of
}

// boundOf is for how long at most a dead client holds a lock by a recipe.
func boundOf(s *service.Service, by string, ahead time.Duration) time.Duration {
	values := setting.Defaults(slices.Concat(setting.Client, s.Client))
	values[service.By] = by
	if _, has := values[java.Ahead.Name]; has {
		values[java.Ahead.Name] = ahead.String()
	}
	bounds, _ := s.Bounds(setting.Defaults(s.World), map[string]scenario.Client{"c": {Values: values}})
	return bounds["c"]
}
