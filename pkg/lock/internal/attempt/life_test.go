package attempt_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// TestLifeIsKept: a lease of 30 s is renewed every 10 s, and every 3 s after a failure, until the lock is released, or the
// lease is lost or over.
func TestLifeIsKept(t *testing.T) {
	failed := errors.New("no answer")
	type answer struct {
		held bool
		err  error
	}
	held, none := answer{held: true}, answer{err: failed}
	for name, test := range map[string]struct {
		answers []answer // one after the other, and then held
		asked   []int    // in seconds after the beginning
		ended   int
		err     error
	}{
		"held until it is released":     {nil, []int{10, 20, 30, 40, 50}, 55, nil},
		"lost":                          {[]answer{held, {}}, []int{10, 20}, 20, lock.ErrLost},
		"a failure":                     {[]answer{none}, []int{10, 13, 23, 33, 43, 53}, 55, nil},
		"no answer for the lease":       {[]answer{held, none, none, none, none, none, none, none}, []int{10, 20, 23, 26, 29, 32, 35, 38}, 40, lock.ErrCutOff},
		"there will be no answer again": {[]answer{held, {err: lock.ErrCutOff}}, []int{10, 20}, 20, lock.ErrCutOff},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				var life attempt.Life
				var asked []int
				var told []error
				life.Begin(context.Background())
				life.Keep(began.Add(30*time.Second), attempt.Renewal{
					Package: "package", Scope: "/lock", TTL: 30 * time.Second,
					Renew: func(ctx context.Context, _ time.Duration) (bool, error) {
						if _, has := ctx.Deadline(); !has {
							t.Error("a renewal may last for ever")
						}
						asked = append(asked, int(time.Since(began).Seconds()))
						if len(asked) > len(test.answers) {
							return true, nil
						}
						a := test.answers[len(asked)-1]
						return a.held, a.err
					},
				})
				life.OnRenewal(func(_ time.Duration, err error) { told = append(told, err) })
				select {
				case <-life.Done():
				case <-time.After(55 * time.Second):
					life.Release()
				}
				if ended := int(time.Since(began).Seconds()); ended != test.ended || life.Err() != test.err {
					t.Errorf("it ends after %d s with %v, want %d s and %v", ended, life.Err(), test.ended, test.err)
				}
				time.Sleep(time.Hour)
				if !slices.Equal(asked, test.asked) {
					t.Errorf("renewals at %v s, want %v", asked, test.asked)
				}
				if want := len(test.asked); len(told) > want || len(told) < want-1 { // that it is lost is no renewal
					t.Errorf("%d renewals are told of %d", len(told), want)
				}
			})
		})
	}
}

// TestRelease: it waits for the renewal that is under way, whose context it ends, and can come twice.
func TestRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var life attempt.Life
		var under atomic.Bool
		life.Begin(context.Background())
		life.Keep(time.Now().Add(time.Minute), attempt.Renewal{TTL: time.Minute, Renew: func(ctx context.Context, _ time.Duration) (bool, error) {
			under.Store(true)
			<-ctx.Done()
			time.Sleep(time.Second)
			under.Store(false)
			return false, ctx.Err()
		}})
		time.Sleep(30 * time.Second)
		if !under.Load() {
			t.Fatal("no renewal is under way")
		}
		life.Release()
		if under.Load() || !life.Over() || life.Err() != nil {
			t.Errorf("a renewal is under way: %v; over: %v, %v", under.Load(), life.Over(), life.Err())
		}
		life.Release()

		var other attempt.Life
		other.Begin(context.Background())
		other.Keep(time.Now().Add(time.Minute), attempt.Renewal{TTL: time.Minute, Renew: func(context.Context, time.Duration) (bool, error) {
			t.Error("a lock is renewed that was released")
			return true, nil
		}})
		other.Release()
		other.Release()
		time.Sleep(time.Hour)
	})
}

// TestFixed: a life ends with its lease, and an end that is known is what Err says.
func TestFixed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var life, released, below attempt.Life
		life.Begin(context.Background())
		r := attempt.Renewal{Renew: func(context.Context, time.Duration) (bool, error) { return true, nil }}
		life.Fixed(time.Now().Add(time.Second), r)
		if err := life.Extend(t.Context(), time.Minute); err != nil {
			t.Error(err)
		}
		released.Begin(context.Background())
		released.Fixed(time.Now().Add(time.Minute), r)
		released.Release()
		session, end := context.WithCancelCause(context.Background())
		below.Begin(session)
		end(errors.New("the session is closed"))
		time.Sleep(59 * time.Second)
		if life.Over() {
			t.Error("an extended lease is over")
		}
		time.Sleep(time.Second)
		for name, test := range map[string]struct {
			life *attempt.Life
			want error
		}{"its lease": {&life, lock.ErrCutOff}, "Unlock": {&released, nil}, "another life": {&below, lock.ErrCutOff}} {
			if <-test.life.Done(); test.life.Err() != test.want {
				t.Errorf("with %s it ends with %v, want %v", name, test.life.Err(), test.want)
			}
		}
	})
}
