package etcd

import (
	"fmt"
	"slices"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
)

// TestObserver feeds changes of a queue to the observer. As package concurrency
// has it, the holder is the key with the lowest create revision.
func TestObserver(t *testing.T) {
	tell(t, []seen{
		{"put", "a", 5, []string{"granted a@5 5"}},
		{"put", "c", 6, []string{"queued c@6 6"}},
		{"put", "b", 7, []string{"queued b@7 7"}},
		{"delete", "b", 0, []string{"ended b@7"}}, // a waiter gives up
		{"put", "a", 5, nil},                      // touched again by its holder
		{"delete", "a", 0, []string{"ended a@5", "granted c@6 6"}},
		{"delete", "a", 0, nil}, // is no holder any more
		{"delete", "c", 0, []string{"ended c@6"}},
		{"put", "a", 9, []string{"granted a@9 9"}},
	})
}

// TestObserverOfReaders: several hold the lock at a time, and none that came after one
// who wants it alone.
func TestObserverOfReaders(t *testing.T) {
	tell(t, []seen{
		{"put", "a-shared", 5, []string{"granted a-shared@5 5 shared"}},
		{"put", "b-shared", 6, []string{"granted b-shared@6 6 shared"}},
		{"put", "w", 7, []string{"queued w@7 7"}},
		{"put", "c-shared", 8, []string{"queued c-shared@8 8 shared"}},
		{"put", "d-shared", 9, []string{"queued d-shared@9 9 shared"}},
		{"delete", "a-shared", 0, []string{"ended a-shared@5"}},
		{"put", "x", 10, []string{"queued x@10 10"}},
		{"delete", "b-shared", 0, []string{"ended b-shared@6", "granted w@7 7"}},
		{"delete", "w", 0, []string{"ended w@7", "granted c-shared@8 8 shared", "granted d-shared@9 9 shared"}},
		{"put", "e-shared", 11, []string{"queued e-shared@11 11 shared"}},
		{"delete", "x", 0, []string{"ended x@10", "granted e-shared@11 11 shared"}}, // a waiter gives up
	})
}

// TestObserverBegins: with a queue that is there.
func TestObserverBegins(t *testing.T) {
	q := newQueue("/lock")
	now := &clientv3.GetResponse{Header: &etcdserverpb.ResponseHeader{Revision: 20}}
	for key, rev := range map[string]int64{"a-shared": 5, "b-shared": 6, "w": 7, "c-shared": 8} {
		now.Kvs = append(now.Kvs, &mvccpb.KeyValue{Key: []byte(key), CreateRevision: rev})
	}
	q.begin(now)
	for key, want := range map[string]bool{"a-shared": true, "b-shared": true, "w": false, "c-shared": false} {
		if q.At(key).Granted != want {
			t.Errorf("%s holds the lock: %v, want %v", key, !want, want)
		}
	}
}

// TestForgotten: of what etcd does not have any more the tenures alone.
func TestForgotten(t *testing.T) {
	before, now := newQueue("/lock"), newQueue("/lock")
	for i, key := range []string{"a-shared", "b-shared", "c-shared", "w"} {
		before.Enter(standing(&mvccpb.KeyValue{Key: []byte(key), CreateRevision: int64(5 + i)}))
	}
	now.Enter(standing(&mvccpb.KeyValue{Key: []byte("b-shared"), CreateRevision: 6}))
	now.Enter(standing(&mvccpb.KeyValue{Key: []byte("c-shared"), CreateRevision: 4})) // of an earlier tenure
	var got []string
	for _, p := range before.lacking(now) {
		got = append(got, p.Tenure)
	}
	if want := []string{"a-shared@5", "c-shared@7"}; !slices.Equal(got, want) {
		t.Errorf("etcd has forgotten %q, want %q", got, want)
	}
}

// seen is a change of a queue, and what the observer says of it.
type seen struct {
	change string
	key    string
	rev    int64
	want   []string
}

// tell feeds changes to the observer.
func tell(t *testing.T, changes []seen) {
	t.Helper()
	q := newQueue("/lock")
	for _, tt := range changes {
		e := &clientv3.Event{Type: mvccpb.Event_PUT, Kv: &mvccpb.KeyValue{Key: []byte(tt.key), CreateRevision: tt.rev}}
		if tt.change == "delete" {
			e.Type = mvccpb.Event_DELETE
		}
		var got []string
		for _, told := range q.see(e) {
			s := fmt.Sprintf("%s %s", told.Kind, told.Tenure)
			if told.Token != 0 {
				s += " " + told.Token.String()
			}
			if told.Mode != fence.Exclusive {
				s += " " + told.Mode.String()
			}
			got = append(got, s)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s %s: told %q, want %q", tt.change, tt.key, got, tt.want)
		}
	}
}
