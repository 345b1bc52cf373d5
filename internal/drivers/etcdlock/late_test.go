package etcdlock_test

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/etcdlock"
)

// lateAnswers are leases whose answers the program hears late, as one that has no processor does. That etcd's client gives up
// it hears at once.
type lateAnswers struct {
	clientv3.Lease
	by   time.Duration
	came chan struct{} // has room for one answer
}

func (l lateAnswers) KeepAlive(ctx context.Context, id clientv3.LeaseID) (<-chan *clientv3.LeaseKeepAliveResponse, error) {
	answers, err := l.Lease.KeepAlive(ctx, id)
	if err != nil {
		return nil, err
	}
	heard := make(chan *clientv3.LeaseKeepAliveResponse)
	go func() {
		defer close(heard)
		for a := range answers {
			select {
			case l.came <- struct{}{}:
			default:
			}
			time.Sleep(l.by)
			select {
			case heard <- a:
			case <-ctx.Done():
				return
			}
		}
	}()
	return heard, nil
}

// TestLateAnswer: etcd's client counts from when an answer came, and gives up before a program that heard of it late. That is
// no word of etcd.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	s := newService(t)
	client, l, err := s.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	defer l.mend()
	came := make(chan struct{}, 1)
	client.Lease = lateAnswers{client.Lease, 600 * time.Millisecond, came} // more than the pace at which etcd's client looks
	b, err := etcdlock.New(client, 4*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	held, err := b.Lock(t.Context(), scope)
	if err != nil {
		t.Fatal(err)
	}
	<-came
	l.cut()
	<-held.Done()
	if err := held.(*etcdlock.Tenure).Err(); err != lock.ErrCutOff {
		t.Errorf("cut off: %v, want %v", err, lock.ErrCutOff)
	}
}
