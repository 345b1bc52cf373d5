package etcdserver

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/fencelab/fencelab/internal/platform/ports"
)

// attempts is for how many choices of ports OnFreePorts goes on.
const attempts = 5

// OnFreePorts calls start with the configurations of n members of a new cluster, each on c's settings,
// with a directory below c.Dir and free ports of 127.0.0.1. Where another process was faster to take
// one of the ports, it does so again, with others and with directories that are empty once more.
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
	for i := range configs {
		m := c
		m.Name = fmt.Sprintf("etcd%d", i+1)
		m.Dir = filepath.Join(cmp.Or(c.Dir, "."), m.Name)
		m.ClientAddr, m.PeerAddr = addrs[2*i], addrs[2*i+1]
		configs[i] = m
	}
	Join(configs)
	return configs, nil
}

// Join makes members one cluster, in which they find each other where they say.
func Join(configs []Config) {
	var all []string
	for _, c := range configs {
		all = append(all, c.Name+"=http://"+c.Found())
	}
	for i := range configs {
		configs[i].Cluster = strings.Join(all, ",")
	}
}
