package etcdproc

import (
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// says is what a member answers.
func says(member, leader, term uint64) *clientv3.StatusResponse {
	return (*clientv3.StatusResponse)(&pb.StatusResponse{Header: &pb.ResponseHeader{MemberId: member}, Leader: leader, RaftTerm: term})
}

func TestElected(t *testing.T) {
	for _, c := range []struct {
		name string
		said []*clientv3.StatusResponse
		want int
	}{
		{"nobody has answered", make([]*clientv3.StatusResponse, 3), -1},
		{"one alone", []*clientv3.StatusResponse{says(7, 7, 2)}, 0},
		{"one alone without a leader yet", []*clientv3.StatusResponse{says(7, 0, 1)}, -1},
		{"all agree", []*clientv3.StatusResponse{says(7, 8, 2), says(8, 8, 2), says(9, 8, 2)}, 1},
		{"most agree", []*clientv3.StatusResponse{nil, says(8, 8, 2), says(9, 8, 2)}, 1},
		{"the leader stands still", []*clientv3.StatusResponse{nil, says(8, 7, 2), says(9, 7, 2)}, -1},
		{"the leader alone has answered", []*clientv3.StatusResponse{says(7, 7, 2), nil, nil}, -1},
		{"no leader yet", []*clientv3.StatusResponse{nil, says(8, 0, 3), says(9, 0, 3)}, -1},
		{"the old leader does not know yet", []*clientv3.StatusResponse{says(7, 7, 2), says(8, 8, 3), says(9, 8, 3)}, 1},
		{"nor does one that followed it", []*clientv3.StatusResponse{says(7, 7, 2), says(8, 8, 3), says(9, 7, 2), says(10, 8, 3), says(11, 8, 3)}, 1},
	} {
		if got := elected(c.said); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
