package etcd

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
)

// impatient is a stage that waits for nothing long.
type impatient struct{ service.Stage }

func (impatient) Meanwhile(ctx context.Context, what string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	return do(ctx)
}

// TestNobodyLeads: an etcd that has no leader when a run begins does not hold it up
// for ever.
func TestNobodyLeads(t *testing.T) {
	s := serversOf(impatient{}, &etcdproc.Cluster{Members: []*etcdproc.Member{{}, {}, {}}}) // that nobody started
	for _, member := range []string{service.MemberLeader, service.MemberFollower} {
		if _, err := s.member(t.Context(), member); err == nil || !strings.Contains(err.Error(), "no member of etcd leads") {
			t.Errorf("%s: got %v, want what it waited for", member, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := s.Observe(ctx); err == nil || !strings.Contains(err.Error(), "no member of etcd leads") {
		t.Errorf("got %v, want what it waited for", err)
	}
}
