// Package natsproc runs a NATS of one or several members, each of which is a process, and the process that tells of the
// locks in it. Their program, which the user's Go compiles, is in the folder _program, and its libraries are no part of gcsim.
package natsproc

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/golang"
	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/sleep"
)

// Arg is the first argument with which Start starts the group's program as a member, or as the account.
const Arg = "nats-node"

func Command() *cobra.Command {
	return proc.Command(Arg, "Be a member of NATS, or tell of its locks", "nats")
}

//go:embed _program/*.go _program/pinned.mod _program/pinned.sum
var sources embed.FS

// Program is the program of members, account and clients.
var Program = golang.NewCompiled("nats", golang.Agent, sources)

const getProgram = "gcsim services get nats"

// Found says where the program is; "": it is missing, and bring is the command that brings it.
func Found() (where, bring string) { return Program.FoundBy(getProgram) }

// Client is the command of a client, without its settings.
func Client() []string { return []string{Program.Path(), "client"} }

// Cluster is the members of a NATS.
type Cluster struct {
	Members []*Member
	group   *proc.Group
	config  Config
}

// Member is one of a Cluster: nats1 and so on. It keeps its addresses and its directory while its process is gone.
type Member struct {
	proc.Node
	monitor string // the address at which it tells how it is
}

// Config is what members have in common.
type Config struct {
	Members int
	// Bucket is where the locks are kept, BucketFile or BucketMemory.
	Bucket string
}

const (
	BucketFile   = "file"
	BucketMemory = "memory"
)

// Start starts members in g, whose program must have Command, and returns when all serve. Found must have found their
// program. They end with the group.
func Start(ctx context.Context, g *proc.Group, config Config) (*Cluster, error) {
	if where, bring := Found(); where == "" {
		return nil, fmt.Errorf("nats is missing: %s", bring)
	}
	n := config.Members
	free, err := ports.Free(3 * n)
	if err != nil {
		return nil, err
	}
	clients, monitors, routes := free[:n], free[n:2*n], free[2*n:]
	c := &Cluster{group: g, config: config}
	for i, addr := range clients {
		name := fmt.Sprint("nats", i+1)
		m := &Member{Node: proc.Node{Group: g, Name: name, Addr: addr}, monitor: monitors[i]}
		m.Serves = m.serves
		m.Args = []string{Arg, Program.Path(), "server", "--name", name, "--jetstream", "--store_dir", filepath.Join(g.Dir, name),
			"--addr", "127.0.0.1", "--port", portOf(addr), "--http_port", portOf(monitors[i])}
		if n > 1 {
			m.Args = append(m.Args, "--cluster_name", "nats", "--no_advertise", "--cluster", urls(routes[i]), "--routes", urls(routes...))
		}
		c.Members = append(c.Members, m)
	}
	if err := proc.StartAll(ctx, c.Members, func(int) error { return nil }); err != nil {
		return nil, err
	}
	return c, nil
}

func portOf(addr string) string { return addr[strings.LastIndex(addr, ":")+1:] }

func urls(addrs ...string) string { return "nats://" + strings.Join(addrs, ",nats://") }

// Account starts the process that makes the bucket of the locks, and tells of the locks in it.
func (c *Cluster) Account() (*proc.Process, error) {
	return c.group.Start("nats-account", nil, Arg, Program.Path(), "account", urls(proc.Endpoints(c.Members)...), c.config.Bucket, fmt.Sprint(len(c.Members)))
}

// askDeadline is for an answer of a member about itself.
const askDeadline = time.Second

// ask asks a member how it is.
func (m *Member) ask(ctx context.Context, what string, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, askDeadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.monitor+what, nil)
	if err != nil {
		return err
	}
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s to %s", m.Name, got.Status, what)
	}
	return json.NewDecoder(got.Body).Decode(answer)
}

func (m *Member) serves(ctx context.Context) error { return m.ask(ctx, "/healthz", new(any)) }

// leader is the name of the member that leads the stream of the locks, as m knows it; "": it knows none.
func (m *Member) leader(ctx context.Context) (string, error) {
	var told struct {
		Accounts []struct {
			Streams []struct {
				Cluster struct{ Leader string }
			} `json:"stream_detail"`
		} `json:"account_details"`
	}
	if err := m.ask(ctx, "/jsz?streams=true", &told); err != nil {
		return "", err
	}
	for _, account := range told.Accounts {
		for _, stream := range account.Streams {
			return stream.Cluster.Leader, nil
		}
	}
	return "", nil
}

const askAgain = 20 * time.Millisecond // after answers that name no leader

// Leader asks the members until one of them leads, by the word of most of them and its own. A member that is alone leads.
func (c *Cluster) Leader(ctx context.Context) (*Member, error) {
	if len(c.Members) == 1 {
		return c.Members[0], nil
	}
	for {
		if m := c.elected(ctx); m != nil {
			return m, nil
		}
		if !sleep.For(ctx, askAgain) {
			return nil, fmt.Errorf("no member of NATS leads: %w", context.Cause(ctx))
		}
	}
}

// elected asks each member once; nil: there is no leader.
func (c *Cluster) elected(ctx context.Context) *Member {
	votes, own := make(map[string]int), make(map[string]bool)
	for _, m := range c.Members {
		leader, err := m.leader(ctx)
		if err != nil {
			continue
		}
		votes[leader]++
		own[m.Name] = leader == m.Name
	}
	for _, m := range c.Members {
		if own[m.Name] && votes[m.Name] > len(c.Members)/2 {
			return m
		}
	}
	return nil
}
