package etcdproc

import (
	"context"
	"errors"
	"fmt"
	"os"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/fencelab/fencelab/internal/platform/proc"
)

// Save writes a snapshot of the leader to file, as "etcdctl snapshot save" does. All
// that was acknowledged before is in it.
func (c *Cluster) Save(ctx context.Context, file string) error {
	leader, err := c.Leader(ctx)
	if err != nil {
		return fmt.Errorf("snapshot of etcd: %w", err)
	}
	config := clientv3.Config{Endpoints: []string{leader.Endpoint()}, Logger: zap.NewNop()}
	client, err := clientv3.New(config)
	if err != nil {
		return err
	}
	defer client.Close()
	// A snapshot is what the member has applied. After a linearizable read that is all
	// that was acknowledged, by others too.
	if _, err := client.Get(ctx, "\x00", clientv3.WithKeysOnly()); err != nil {
		return fmt.Errorf("snapshot of etcd: %w", err)
	}
	if _, err := snapshot.NewV3(zap.NewNop()).Save(ctx, config, file); err != nil {
		return fmt.Errorf("snapshot of etcd, of %s to %s: %w", leader.Name, file, err)
	}
	return nil
}

// Restored says how revisions go on after Restore. The zero value: from that of the
// snapshot, which gives out those once more that were given out since.
type Restored struct {
	// BumpRevision is how far above the snapshot's they go on: by more than were
	// given out since, none is given out again.
	BumpRevision uint64
	// MarkCompacted has watches from before end with an error, as what they would have to tell is not
	// known. It goes with BumpRevision: both or none, as in "etcdutl snapshot restore".
	MarkCompacted bool
}

// Restore ends all members, replaces their data by the snapshot in file, as "etcdutl snapshot restore"
// does, starts them and returns when all serve, on the addresses that they had. They keep their member
// IDs, so that ByLeaseID stays the same. A file that is no snapshot leaves the cluster as it is; after
// another error it may have no members that run. Nobody else may restart members meanwhile.
func (c *Cluster) Restore(ctx context.Context, file string, r Restored) error {
	if r.MarkCompacted != (r.BumpRevision > 0) {
		return fmt.Errorf("restore etcd: to bump the revision by %d and to mark it compacted (%t) go together: want both or none", r.BumpRevision, r.MarkCompacted)
	}
	for _, m := range c.Members {
		if err := m.prepare(file, r); err != nil {
			return fmt.Errorf("restore %s from %s: %w", m.Name, file, err)
		}
	}
	if err := proc.KillAll(c.Members); err != nil {
		return err
	}
	for _, m := range c.Members {
		if err := errors.Join(os.RemoveAll(m.config.Dir), os.Rename(m.restoredDir(), m.config.Dir)); err != nil {
			return fmt.Errorf("restore %s: %w", m.Name, err)
		}
	}
	return c.start(ctx)
}

// restoredDir is where the member's next data directory is prepared.
func (m *Member) restoredDir() string { return m.config.Dir + ".restored" }

func (m *Member) prepare(file string, r Restored) error {
	if err := os.RemoveAll(m.restoredDir()); err != nil { // of an attempt that failed
		return err
	}
	return snapshot.NewV3(zap.NewNop()).Restore(snapshot.RestoreConfig{
		SnapshotPath:        file,
		Name:                m.Name,
		OutputDataDir:       m.restoredDir(),
		PeerURLs:            []string{"http://" + m.config.Found()},
		InitialCluster:      m.config.Cluster,
		InitialClusterToken: embed.NewConfig().InitialClusterToken, // the members' own
		RevisionBump:        r.BumpRevision,
		MarkCompacted:       r.MarkCompacted,
	})
}
