package etcdlock

import (
	"context"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/lock"
)

// renewals is what a session renews its lease by. It finds out why the renewal
// ended, which a session does not tell.
type renewals struct {
	clientv3.Lease
	client *clientv3.Client // the caller's
	err    error            // as that of lock.Tenure, once the session is done
}

// KeepAlive passes on no answers, only their end: a session does not look at them.
func (r *renewals) KeepAlive(ctx context.Context, id clientv3.LeaseID) (<-chan *clientv3.LeaseKeepAliveResponse, error) {
	answers, err := r.Lease.KeepAlive(ctx, id)
	if err != nil {
		return nil, err
	}
	ended := make(chan *clientv3.LeaseKeepAliveResponse)
	go func() {
		defer close(ended)
		// Until then etcd's last answer is enough. For the first one its client
		// waits a second, or more (firstKeepAliveTimeout).
		until := time.Now().Add(time.Second)
		for a := range answers {
			until = time.Now().Add(time.Duration(a.TTL) * time.Second)
		}
		switch {
		case r.client.Ctx().Err() != nil: // it was closed
			r.err = lock.ErrCutOff
		case ctx.Err() != nil: // by Unlock
		case time.Now().Before(until): // etcd has said that the lease is over
			r.err = lock.ErrLost
		default:
			r.err = lock.ErrCutOff
		}
	}()
	return ended, nil
}
