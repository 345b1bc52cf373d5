// Package redis is the lock service Redis: nodes that are a process each, real ones or
// embedded ones, the locks that people build on them, and an account of tenures by the
// nodes' replication streams. A recipe is an entry in the table of its kind, and a fault is a file.
package redis

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
	"github.com/fencelab/fencelab/internal/setting"
)

// Service is Redis.
type Service struct {
	Dialer
	embedded bool // the user wants the embedded one
}

var (
	_ service.Service = Service{}
	_ service.Bounded = Service{}
	_ service.Lacking = Service{}
	_ service.Peered  = Service{}
)

// nodes is what a story calls its nodes.
var nodes = service.Nodes{Name: Name, Setting: settingNodes, One: "node of Redis", Many: "nodes of Redis"}

// Words implements service.Service, as those below do.
func (s Service) Words() scenario.Service {
	return scenario.Service{
		Name: Name, About: "The lock service.",
		World: worldSettings, Client: clientSettings,
		Nodes: nodes.Name + "[0-9]+", Unqueued: true, Halfway: true,
		Check: check, Own: own,
	}
}

// Faults are steps that no other service has.
func (Service) Faults() []*service.Fault {
	return []*service.Fault{&killNode, &restartNode, &pauseNode, &resumeNode, &isolateReplica, &healReplica, &promote, &fill, &jump}
}

// wantEmbedded is what a user calls the embedded server.
const wantEmbedded = "embedded"

// program is the Redis that runs; "" is the embedded one.
func (s Service) program() string {
	if s.embedded {
		return ""
	}
	return redisproc.Program()
}

// Found is never "": there is the embedded one.
func (s Service) Found() (where, bring string) {
	switch program := s.program(); {
	case program != "":
		return program, ""
	case s.embedded:
		return "embedded, miniredis", ""
	}
	return "embedded, miniredis; for all its scenarios: " + redisproc.Install, ""
}

// Where says what At takes.
func (Service) Where() string { return wantEmbedded + ", or the URL of one that is there already" }

// At takes a URL with a password and TLS where there are any. The clients are told of it by
// the environment.
func (s Service) At(where string) (service.Service, []string, error) {
	if where == wantEmbedded {
		return Service{embedded: true}, nil, nil
	}
	options, err := redis.ParseURL(where)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("want %s such as redis://HOST:PORT or rediss://USER:PASSWORD@HOST:PORT: %w", s.Where(), err)
	case options.Network != "tcp":
		return nil, nil, fmt.Errorf("want the URL of a Redis that listens at HOST:PORT, and not on a socket")
	case options.DB != 0:
		return nil, nil, fmt.Errorf("the URL names the database %d: runs use the database 0, below a prefix of their own", options.DB)
	}
	return s, []string{options.Addr}, os.Setenv(urlEnv, where)
}

// Commands has the process of a node.
func (Service) Commands() []*cobra.Command {
	return []*cobra.Command{{
		Use: redisproc.Arg + " ADDRESS PROGRAM [ARGUMENT]...", Short: "Be a node of Redis", Hidden: true,
		DisableFlagParsing: true,
		RunE:               func(_ *cobra.Command, args []string) error { return redisproc.Run(args) },
	}}
}

// own says why a variant needs a Redis of its own.
func own(world setting.Values, _ map[string]scenario.Client) (why []string) {
	if n := world.Number(settingNodes); n != 1 {
		why = append(why, fmt.Sprintf("wants %d nodes of Redis", n))
	}
	if p := world.Text(settingPersistence); p != persistenceNone {
		why = append(why, "wants a Redis with the persistence "+p)
	}
	if e := world.Text(settingEviction); e != evictionNone {
		why = append(why, "wants a Redis with the eviction "+e)
	}
	if world.Number(settingReplicas) > 0 {
		why = append(why, "wants a Redis with a replica")
	}
	return why
}

// Lacks implements service.Lacking.
func (s Service) Lacks(v *scenario.Variant) string {
	has := func(f *scenario.Form) bool {
		return slices.ContainsFunc(v.Steps, func(step scenario.Step) bool { return step.Form == f })
	}
	switch world := v.World.Settings; {
	case s.program() != "" && has(&jump.Form):
		return "the clock of a real Redis is the machine's: it needs the embedded one, by \"--redis embedded\""
	case s.program() != "":
		return ""
	case world.Text(settingPersistence) != persistenceNone:
		return "the embedded Redis keeps nothing when it ends: it needs another, by " + redisproc.Install
	case world.Text(settingEviction) != evictionNone || has(&fill.Form):
		return "the embedded Redis has no bound of its memory: it needs another, by " + redisproc.Install
	case world.Number(settingReplicas) > 0:
		return "the embedded Redis has no replicas: it needs another, by " + redisproc.Install
	}
	return ""
}

// Told implements service.Service, as those below do.
func (Service) Told(client string, all map[string]scenario.Client) setting.Values {
	return all[client].Values
}

func (Service) Shows(client setting.Values) string {
	if client.Text(setting.Token) == setting.TokenReadAgain {
		return history.ShowsAny
	}
	return service.RecipeOf(recipes, client).common().shows()
}

// Slot is the owner, the value of the key: unlocks of two tenures of one owner free the
// same.
func (Service) Slot(tenure string) string { return ownerOf(tenure) }

// Bounds implements service.Bounded. A lease that a client makes longer without end bounds
// nothing, but a client that is dead or stopped makes none longer.
func (Service) Bounds(_ setting.Values, clients map[string]scenario.Client) (bounds map[string]time.Duration, handover time.Duration) {
	return service.Leases(clients, service.Slack), service.Slack
}

// isAddress reports whether s is HOST:PORT, as far as can be told without trying.
func isAddress(s string) bool {
	host, port, err := net.SplitHostPort(s)
	return err == nil && host != "" && port != "" && !strings.ContainsAny(host, " /@")
}
