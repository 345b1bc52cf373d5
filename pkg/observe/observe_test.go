package observe_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
	"github.com/fencelab/fencelab/pkg/observe"
)

var (
	errOther = errors.New("refused")
	unknown  = &lock.UnknownError{Op: "lock", Scope: "/lock", Err: context.Canceled}
)

func TestResult(t *testing.T) {
	for _, tt := range []struct {
		kind lock.EventKind
		err  error
		want string
		at   string // the level of its line
	}{
		{lock.Asked, nil, "", "DEBUG"},
		{lock.Granted, nil, "granted", "DEBUG"},
		{lock.NotGranted, lock.ErrLocked, "locked", "DEBUG"},
		{lock.NotGranted, context.Canceled, "cancelled", "DEBUG"},
		{lock.NotGranted, context.DeadlineExceeded, "cancelled", "DEBUG"},
		{lock.NotGranted, unknown, "unknown", "WARN"},
		{lock.NotGranted, errOther, "failed", "WARN"},
		{lock.Renewed, nil, "renewed", "DEBUG"},
		{lock.RenewalFailed, context.DeadlineExceeded, "failed", "WARN"},
		{lock.RenewalFailed, unknown, "failed", "WARN"},
		{lock.Lost, lock.ErrLost, "lost", "ERROR"},
		{lock.Lost, lock.ErrCutOff, "cut_off", "ERROR"},
		{lock.Released, nil, "released", "DEBUG"},
		{lock.Released, unknown, "unknown", "WARN"},
	} {
		err := tt.err
		if err != nil {
			err = fmt.Errorf("somelock: %w", err)
		}
		e := lock.Event{Kind: tt.kind, Scope: "/lock", Err: err}
		if got := observe.Result(e); got != tt.want {
			t.Errorf("%v, %v: %q, want %q", tt.kind, err, got, tt.want)
		}
		if line := logged(func(l observe.Log) { l.Observe(t.Context(), e) }); !strings.HasPrefix(line, "level="+tt.at+` msg="lock: `+tt.kind.String()+`" scope=/lock`) {
			t.Errorf("%v, %v: logged %q, want it at level %s", tt.kind, err, line, tt.at)
		}
	}
}

func TestJudgement(t *testing.T) {
	for _, tt := range []struct {
		refused  error
		want, at string
	}{
		{nil, "admitted", "DEBUG"},
		{&fence.StaleError{Scope: "/lock", Token: 3, Mark: 4}, "stale", "WARN"},
		{fence.ErrNoToken, "missing", "WARN"},
		{fence.ErrInvalidScope, "invalid", "WARN"},
		{&fence.AheadError{Scope: "/lock", Token: 3, Bound: 2}, "ahead", "WARN"},
		{fence.ErrDuplicate, "duplicate", "DEBUG"},
		{fence.ErrTooManyScopes, "other", "WARN"},
	} {
		if got := observe.Judgement(tt.refused); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.refused, got, tt.want)
		}
		c := fence.Claim{Scope: "/lock", Token: 3}
		if line := logged(func(l observe.Log) { l.Claim(t.Context(), c, tt.refused) }); !strings.HasPrefix(line, "level="+tt.at+` msg="fence: `+tt.want+`" scope=/lock token=3`) {
			t.Errorf("%v: logged %q, want it at level %s", tt.refused, line, tt.at)
		}
	}
}

// logged is what a Log writes, without the time.
func logged(write func(observe.Log)) string {
	var b bytes.Buffer
	write(observe.NewLog(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))))
	_, line, _ := strings.Cut(strings.TrimSpace(b.String()), " ")
	return line
}

// TestLogSaysAll: what an event has is in its line, and what it lacks is not.
func TestLogSaysAll(t *testing.T) {
	e := lock.Event{Kind: lock.RenewalFailed, Op: "extend", Scope: "/lock", Err: errOther, Took: time.Second,
		Grant: lock.Grant{Scope: "/lock", Owner: "me", Token: 7, Mode: fence.Shared}}
	for want, write := range map[string]func(observe.Log){
		`level=WARN msg="lock: renewal failed" scope=/lock op=extend token=7 owner=me mode=shared took=1s error=refused`: func(l observe.Log) { l.Observe(t.Context(), e) },
		`level=DEBUG msg="lock: asked" scope=/lock op=lock`: func(l observe.Log) {
			l.Observe(t.Context(), lock.Event{Kind: lock.Asked, Op: "lock", Scope: "/lock"})
		},
		`level=DEBUG msg="fence: admitted" scope=/lock token=7 mode=exclusive sequence=2`: func(l observe.Log) {
			l.Claim(t.Context(), fence.Claim{Scope: "/lock", Token: 7, Sequence: 2}, nil)
		},
	} {
		if got := logged(write); got != want {
			t.Errorf("logged\n%s, want\n%s", got, want)
		}
	}
}

// TestScopes: so many have a name of their own, and keep it.
func TestScopes(t *testing.T) {
	var s observe.Scopes
	for range 2 {
		for i := range observe.MaxScopes + 2 {
			scope := fmt.Sprint("/", i)
			want := scope
			if i >= observe.MaxScopes {
				want = "(other)"
			}
			if got := s.Name(scope); got != want {
				t.Errorf("scope %q is called %q, want %q", scope, got, want)
			}
		}
	}
}
