package redislock_test

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"
)

// hook is called instead of each request, which send sends, also after its context is done.
type hook func(send func() error) error

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h(func() error { return next(context.WithoutCancel(ctx), cmd) })
	}
}

// scripts tells of each script that is answered, and not of what begins a connection.
type scripts struct {
	hook
	answered chan struct{}
}

func (s scripts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if cmd.Name() == "evalsha" {
			s.answered <- struct{}{}
		}
		return err
	}
}

// twice sends each request again, as go-redis does where the first answer is lost.
func twice(send func() error) error {
	_ = send()
	return send()
}

var errReset = &net.OpError{Op: "read", Err: errors.New("connection reset")}

// unanswered loses each answer.
func unanswered(send func() error) error {
	_ = send()
	return errReset
}
