package etcdserver

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/fencelab/fencelab/internal/ports"
)

// Cluster is members that run in this process.
type Cluster struct {
	Members []*Member
}

// Member is one of a Cluster. It keeps its addresses and its directory while it
// is stopped.
type Member struct {
	config Config
	mu     sync.Mutex
	server *Server // nil: stopped
}

// StartCluster starts n members below c.Dir and returns when all serve clients.
// They have the settings of c but for names and addresses, which they are given.
func StartCluster(n int, c Config) (*Cluster, error) {
	return OnFreePorts(n, c, func(configs []Config) (*Cluster, error) {
		cluster := new(Cluster)
		for _, config := range configs {
			// One after another: together, each would wait for answers of others that
			// do not serve yet.
			server, err := begin(config)
			if err != nil {
				cluster.Close()
				return nil, err
			}
			cluster.Members = append(cluster.Members, &Member{config: config, server: server})
		}
		for _, m := range cluster.Members {
			if err := m.server.await(m.config); err != nil {
				cluster.Close()
				return nil, err
			}
		}
		return cluster, nil
	})
}

// Close stops all members.
func (c *Cluster) Close() {
	var wg sync.WaitGroup
	for _, m := range c.Members {
		wg.Go(m.Stop)
	}
	wg.Wait()
}

// Endpoints are the addresses for clients of all members.
func (c *Cluster) Endpoints() []string {
	var all []string
	for _, m := range c.Members {
		all = append(all, m.Endpoint())
	}
	return all
}

// Leader returns the member that leads; nil where none does at the moment.
func (c *Cluster) Leader() *Member {
	for _, m := range c.Members {
		if m.IsLeader() {
			return m
		}
	}
	return nil
}

// Endpoint is the address for clients.
func (m *Member) Endpoint() string { return m.config.ClientAddr }

// IsLeader says whether the member runs and leads, as far as it knows.
func (m *Member) IsLeader() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.server != nil && m.server.IsLeader()
}

// Stop stops the member as Server.Close does, without a word to the others. A
// member that is stopped already stays so.
func (m *Member) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.server != nil {
		m.server.Close()
		m.server = nil
	}
}

// Restart stops the member if it runs, starts it on its data and addresses, and
// returns when it serves clients. That takes most of the members: to bring back
// several that are missing for it, restart them at the same time.
func (m *Member) Restart() error {
	m.Stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	server, err := Start(m.config)
	if err == nil {
		m.server = server
	}
	return err
}

// attempts is for how many choices of ports OnFreePorts goes on.
const attempts = 5

// OnFreePorts calls start with the configurations of n members of a new cluster, each
// on c's settings, with a directory below c.Dir and free ports of 127.0.0.1. Where
// another process was faster to take one of the ports, it does so again, with
// others and with directories that are empty once more.
func OnFreePorts[T any](n int, c Config, start func([]Config) (T, error)) (none T, err error) {
	for range attempts {
		configs, err := plan(n, c)
		if err != nil {
			return none, err
		}
		cluster, err := start(configs)
		if !portTaken(err) {
			return cluster, err
		}
		for _, config := range configs {
			if err := os.RemoveAll(config.Dir); err != nil {
				return none, err
			}
		}
	}
	return none, fmt.Errorf("etcdserver: no ports for %d members after %d attempts", n, attempts)
}

// portTaken also understands what a process said before it ended.
func portTaken(err error) bool {
	return err != nil && (errors.Is(err, syscall.EADDRINUSE) || strings.Contains(err.Error(), syscall.EADDRINUSE.Error()))
}

func plan(n int, c Config) ([]Config, error) {
	addrs, err := ports.Free(2 * n)
	if err != nil {
		return nil, err
	}
	configs := make([]Config, n)
	var peers []string
	for i := range configs {
		m := c
		m.Name = fmt.Sprintf("etcd%d", i+1)
		m.Dir = filepath.Join(cmp.Or(c.Dir, "."), m.Name)
		m.ClientAddr, m.PeerAddr = addrs[2*i], addrs[2*i+1]
		peers = append(peers, m.Name+"=http://"+m.PeerAddr)
		configs[i] = m
	}
	for i := range configs {
		configs[i].Cluster = strings.Join(peers, ",")
	}
	return configs, nil
}
