package etcd

import (
	"fmt"
	"slices"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// TestObserver feeds changes of a queue to the observer. As package concurrency
// has it, the holder is the key with the lowest create revision.
func TestObserver(t *testing.T) {
	q := &queue{scope: "/lock", places: make(map[string]int64)}
	for _, tt := range []struct {
		change string
		key    string
		rev    int64
		want   []string
	}{
		{"put", "a", 5, []string{"granted a@5 5"}},
		{"put", "c", 6, []string{"queued c@6 6"}},
		{"put", "b", 7, []string{"queued b@7 7"}},
		{"delete", "b", 0, []string{"ended b@7"}}, // a waiter gives up
		{"put", "a", 5, nil},                      // touched again by its holder
		{"delete", "a", 0, []string{"ended a@5", "granted c@6 6"}},
		{"delete", "a", 0, nil}, // is no holder any more
		{"delete", "c", 0, []string{"ended c@6"}},
		{"put", "a", 9, []string{"granted a@9 9"}},
	} {
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
			got = append(got, s)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s %s: told %q, want %q", tt.change, tt.key, got, tt.want)
		}
	}
}
