package lab

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/fencelab/fencelab/internal/etcdproc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/pkg/fence"
)

// bump is by how much a restored etcd's revisions go forward: more than it can
// have given out since the snapshot.
const bump = 1_000_000

func (r *run) snapshotFile() string { return filepath.Join(r.world.group.Dir, "snapshot.db") }

// save takes a snapshot of etcd.
func (r *run) save(ctx context.Context) error {
	err := r.meanwhile(ctx, "etcd's snapshot", func(ctx context.Context) error { return r.world.etcd.Save(ctx, r.snapshotFile()) })
	if err != nil {
		return err
	}
	revision, err := r.revision(ctx)
	if err != nil {
		return err
	}
	r.remark(r.recorder.now(), fmt.Sprintf("a snapshot of etcd is taken, at revision %d", revision))
	return nil
}

// restore starts etcd anew from the snapshot.
func (r *run) restore(ctx context.Context) error {
	before, err := r.revision(ctx)
	if err != nil {
		return err
	}
	if err := r.stopObserving(ctx); err != nil {
		return err
	}
	var how etcdproc.Restored
	words := "restored from its snapshot"
	if r.variant.World.Etcd.Restore == scenario.RestoreBumped {
		how = etcdproc.Restored{BumpRevision: bump, MarkCompacted: true}
		words += fmt.Sprintf(", with --bump-revision %d --mark-compacted", bump)
	}
	for _, m := range r.world.etcd.Members {
		r.world.mean(m.Process())
	}
	err = r.meanwhile(ctx, "etcd to be restored", func(ctx context.Context) error {
		return r.world.etcd.Restore(ctx, r.snapshotFile(), how)
	})
	if err != nil {
		return err
	}
	r.guardEtcd()
	if err := r.observe(ctx, r.world.endpoints, true); err != nil {
		return err
	}
	after, err := r.revision(ctx)
	if err != nil {
		return err
	}
	r.remark(r.recorder.now(), fmt.Sprintf("etcd is %s: its revision was %d and is %d", words, before, after))
	return nil
}

// revision is etcd's, now.
func (r *run) revision(ctx context.Context) (revision fence.Token, err error) {
	err = r.meanwhile(ctx, "etcd's revision", func(ctx context.Context) error {
		resp, err := r.world.observer.client.Get(ctx, "fencelab")
		if err == nil {
			revision = fence.Token(resp.Header.Revision)
		}
		return err
	})
	return revision, err
}
