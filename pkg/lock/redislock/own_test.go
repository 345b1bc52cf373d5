package redislock

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// granting is a Redis that is not there, and grants each lock.
type granting struct{}

func (granting) DialHook(next redis.DialHook) redis.DialHook { return next }

func (granting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (granting) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		cmd.(*redis.Cmd).SetVal(int64(34))
		return nil
	}
}

// TestUnobservedCostsNothing: a tenure has nothing for listeners where nobody listens.
func TestUnobservedCostsNothing(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	client.AddHook(granting{})
	b, err := New(client, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	taken, err := b.TryLock(t.Context(), "/lock")
	if err != nil {
		t.Fatal(err)
	}
	tenure := taken.(*Tenure)
	defer func() { tenure.life.Release() }()
	if listeners := reflect.ValueOf(&tenure.life).Elem().FieldByName("renewals"); !listeners.IsZero() {
		t.Errorf("there is %+v", listeners)
	}
}
