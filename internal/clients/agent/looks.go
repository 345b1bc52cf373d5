package agent

import (
	"context"
	"errors"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// way is how the agent looks before an op; begin is what setting.LookBegin, or no setting, means here.
func (a *agent) way(op, begin string) string {
	if op == history.OpRead || op == history.OpUnlock {
		return setting.LookNothing
	}
	if how := a.Settings[setting.Look]; how != "" && how != setting.LookBegin {
		return how
	}
	return begin
}

// mayGoOn looks before r, as --look has it, and reports what it saw: whether to go on, or else why not.
func (a *agent) mayGoOn(ctx context.Context, r *request) (refused history.Event, ok bool) {
	how := a.way(r.ask.Op, setting.LookNothing)
	said, refused, ok := a.looks(ctx, how, r)
	if ok && how != setting.LookNothing && how != setting.LookSession {
		a.note(r.lock, "", a.Name+" "+said)
	}
	return refused, ok
}

// looks looks before r, and says what it saw. Without a lock of its own it reports that r was not sent.
func (a *agent) looks(ctx context.Context, how string, r *request) (said string, refused history.Event, ok bool) {
	said, err := a.see(ctx, how, r.lock)
	if err == nil {
		return said, refused, true
	}
	refused = a.invoke(r.ask)
	if errors.As(err, new(service.NotHeld)) {
		refused.Reason = history.ReasonLost
	}
	return "", a.conclude(refused, fence.Definite.Wrap(err)), false
}

// see looks whether a lock is held; the error is as that of Tenure.Look.
func (a *agent) see(ctx context.Context, how, lock string) (said string, err error) {
	h := a.find(lock)
	switch {
	case how == setting.LookNothing:
		return "does not look whether it holds " + lock, nil
	case h == nil:
		return "", service.NotHeld("it holds no lock")
	case how != setting.LookSession:
		ctx, cancel := context.WithTimeout(ctx, a.timeout)
		defer cancel()
		return h.Look(ctx, how)
	case h.lost():
		return "", service.NotHeld("its session has ended")
	}
	return "has looked: it holds " + lock, nil
}
