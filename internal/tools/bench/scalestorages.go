package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fenceetcd"
)

// storages measures how writes grow with the storages before one etcd.
func (b *bench) storages() {
	etcd := b.launch(startEtcd)
	client, end, err := dialEtcd(etcd.addr)
	check(err)
	defer end()
	t := b.report.table("Storages before one etcd", fmt.Sprintf(
		"Writes of 1,000 keys, each its own lock, by %d connections, which are spread over storages with the engine etcd; and by fenceetcd in this process, by one client of etcd. *of one storage*: the rate relative to one storage, of the same round. The processor times say more where all share a few processors.", writers),
		"storages", "writes/s", "of one storage", "processor time a write of etcd, client", "of all storages")
	var cs []contender
	var spent [][]float64
	for _, n := range []int{1, 2, 4} {
		var servers []*server
		var loads []*load
		for range n {
			s := b.storage("--engine", "etcd", "--endpoints", etcd.addr)
			l := must(dial(s.addr, writers/n, put(fewKeys, 1)))
			defer l.close()
			servers, loads = append(servers, s), append(loads, l)
		}
		turn := working(writers, 1, func(_ context.Context, i int) error { return loads[i%n].send(i / n) })
		i := len(spent)
		spent = append(spent, nil)
		cs = append(cs, contender{strconv.Itoa(n), func(d time.Duration) (int, time.Duration, error) {
			before, err := usedBy(servers)
			if err != nil {
				return 0, 0, err
			}
			ops, took, err := turn(d)
			if err != nil {
				return 0, 0, err
			}
			after, err := usedBy(servers)
			spent[i] = append(spent[i], float64((after-before).Nanoseconds())/1000/float64(ops))
			return ops, took, err
		}, etcd})
	}
	results := b.race(append(cs, contender{"none, fenceetcd", writing(writers, func(ctx context.Context, _, n int) error {
		key := key(n, fewKeys)
		_, err := fenceetcd.Do(ctx, client, fence.Claim{Scope: key, Token: 34}, clientv3.OpPut(key, value))
		return err
	}), etcd})...)
	t.compare(nil, results, results[0], partOf, processorTime)
	for i := range spent {
		t.rows[i] = append(t.rows[i], micros(spent[i]))
	}
	t.rows[len(spent)] = append(t.rows[len(spent)], "")
}

// usedBy is the processor time that servers have taken so far.
func usedBy(servers []*server) (sum time.Duration, err error) {
	for _, s := range servers {
		_, used, err := s.used()
		if err != nil {
			return 0, err
		}
		sum += used
	}
	return sum, nil
}
