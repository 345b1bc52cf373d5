package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/etcdproc"
	"github.com/fencelab/fencelab/internal/history"
)

// observeWell begins the observer's account through a member that no story stops.
func (r *run) observeWell(ctx context.Context) error {
	if r.world.etcd == nil || len(r.world.etcd.Members) == 1 {
		return r.observe(ctx, r.world.endpoints, false)
	}
	leader, err := r.leader(ctx)
	if err != nil {
		return err
	}
	var others []string
	for _, m := range r.world.etcd.Members {
		if m != leader {
			others = append(others, m.Endpoint())
		}
	}
	return r.observe(ctx, others[:1], false)
}

// leader is the member of etcd that leads.
func (r *run) leader(ctx context.Context) (leader *etcdproc.Member, err error) {
	err = r.meanwhile(ctx, "a leader of etcd", func(ctx context.Context) (err error) {
		leader, err = r.world.etcd.Leader(ctx)
		return err
	})
	return leader, err
}

// stopLeader stops the member of etcd that leads, by SIGSTOP, and awaits that
// another one does; or lets it go on.
func (r *run) stopLeader(ctx context.Context, stop bool) error {
	if !stop {
		m := r.world.stopped
		if err := m.Process().Resume(); err != nil {
			return err
		}
		r.remark(r.recorder.now(), fmt.Sprintf("%s, the member that led, goes on, as a follower", m.Name()))
		return nil
	}
	var old, next *etcdproc.Member
	var at time.Duration
	err := r.meanwhile(ctx, "another member to lead", func(ctx context.Context) (err error) {
		if old, err = r.world.etcd.Leader(ctx); err != nil {
			return err
		}
		at = r.recorder.now()
		if err := old.Process().Pause(); err != nil {
			return err
		}
		next, err = r.world.etcd.Leader(ctx)
		return err
	})
	if err != nil {
		return err
	}
	now := r.recorder.now()
	r.world.stopped = old
	r.remark(at, fmt.Sprintf("%s, the member of etcd that leads, is stopped", old.Name()))
	r.remark(now, fmt.Sprintf("%s leads now; for %.3f s nobody did, and all leases were given their whole time anew", next.Name(), (now-at).Seconds()))
	if err := r.stopObserving(ctx); err != nil {
		return err
	}
	return r.observe(ctx, []string{next.Endpoint()}, false)
}

// remark records a note about etcd.
func (r *run) remark(at time.Duration, text string) {
	r.recorder.add(history.Event{At: at, Lane: history.LaneEtcd, Kind: history.KindNote, Text: text})
}
