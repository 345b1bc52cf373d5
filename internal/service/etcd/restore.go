package etcd

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
)

// bump is by how much a restored etcd's revisions go forward: more than it can
// have given out since the snapshot.
const bump = 1_000_000

const saved = "there is a snapshot"

var save = service.NewFault(scenario.Form{
	Usage: "save etcd", Target: scenario.TheService,
	About: "Takes a snapshot of etcd.",
	Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
		s.Facts[saved] = true
		return ""
	},
}, func(ctx context.Context, s *servers, story service.Story, _ scenario.Step) error {
	err := story.Meanwhile(ctx, "etcd's snapshot", func(ctx context.Context) error { return s.cluster.Save(ctx, s.snapshotFile()) })
	if err != nil {
		return err
	}
	revision, err := s.position(ctx)
	if err != nil {
		return err
	}
	story.Remark(story.Now(), fmt.Sprintf("a snapshot of etcd is taken, at revision %d", revision))
	return nil
})

var restore = service.NewFault(scenario.Form{
	Usage: "restore etcd", Target: scenario.TheService, Own: "restores etcd from a snapshot",
	About: "Starts etcd again from that snapshot.",
	Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
		if !s.Facts[saved] {
			return "there is no snapshot: it needs a step \"gcsim: save etcd\" before"
		}
		if members := s.Variant.World.Settings.Number(nodes.Setting); members != 1 {
			return fmt.Sprintf("etcd has %d members, and only one alone can be restored: it needs \"members: 1\"", members)
		}
		return ""
	},
}, func(ctx context.Context, s *servers, story service.Story, _ scenario.Step) error {
	before, err := s.position(ctx)
	if err != nil {
		return err
	}
	if err := s.stopObserving(ctx, story); err != nil {
		return err
	}
	var how etcdproc.Restored
	words := "restored from its snapshot"
	if s.Stage.Plan().World.Text(settingRestore) == restoreBumped {
		how = etcdproc.Restored{BumpRevision: bump, MarkCompacted: true}
		words += fmt.Sprintf(", with --bump-revision %d --mark-compacted", bump)
	}
	for _, m := range s.cluster.Members {
		story.Ends(m.Process())
	}
	err = s.Stage.Meanwhile(ctx, "etcd to be restored", func(ctx context.Context) error {
		return s.cluster.Restore(ctx, s.snapshotFile(), how)
	})
	if err != nil {
		return err
	}
	s.Guard()
	if err := s.observe(ctx, s.endpoints, story.Revoked); err != nil {
		return err
	}
	after, err := s.position(ctx)
	if err != nil {
		return err
	}
	story.Remark(story.Now(), fmt.Sprintf("etcd is %s: its revision was %d and is %d", words, before, after))
	return nil
})

func (s *servers) snapshotFile() string { return filepath.Join(s.Stage.Group().Dir, "snapshot.db") }
