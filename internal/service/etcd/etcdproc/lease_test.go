package etcdproc_test

import (
	"slices"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/internal/service/etcd/etcdproc"
)

func TestByLeaseID(t *testing.T) {
	w := start(t, 3)
	w.grantInOrder()
}

// grantInOrder grants a lease by each member, the last one first, so that neither
// the order of members nor that of grants could be mistaken for the order of IDs.
func (w *world) grantInOrder() {
	w.t.Helper()
	ordered := w.ByLeaseID()
	for _, m := range w.Members {
		if !slices.Contains(ordered, m) {
			w.t.Errorf("%s is missing", m.Name)
		}
	}
	var ids []clientv3.LeaseID
	for _, m := range slices.Backward(ordered) {
		lease, err := w.at(m).Grant(w.ctx, 60)
		if err != nil {
			w.t.Fatal(err)
		}
		ids = append(ids, lease.ID)
	}
	slices.Reverse(ids)
	if !slices.IsSorted(ids) {
		w.t.Errorf("in the order %v the members granted %x", names(ordered), ids)
	}
}

func names(members []*etcdproc.Member) (all []string) {
	for _, m := range members {
		all = append(all, m.Name)
	}
	return all
}
