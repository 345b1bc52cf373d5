package service

import "context"

// Queue is a client's wait for a lock in the background: what is the same of every Place.
type Queue struct {
	granted chan error
	leave   context.CancelFunc
}

// Enqueue calls wait in the background, with a context that ends when the client leaves.
// It returns when stands is closed, which is when the client stands in the queue, or when
// the wait is over: its error is why the lock was not granted. ctx bounds this.
func Enqueue(ctx context.Context, stands <-chan struct{}, wait func(context.Context) error) (*Queue, error) {
	waiting, leave := context.WithCancel(context.WithoutCancel(ctx))
	q := &Queue{make(chan error, 1), leave}
	go func() {
		defer leave()
		q.granted <- wait(waiting)
	}()
	var err error
	select {
	case <-stands:
		return q, nil
	case err = <-q.granted:
	case <-ctx.Done():
		leave()
		err = <-q.granted
	}
	if err != nil {
		return nil, err
	}
	q.granted <- nil
	return q, nil
}

// Granted implements Place, as Leave does.
func (q *Queue) Granted() <-chan error { return q.granted }

func (q *Queue) Leave() { q.leave() }
