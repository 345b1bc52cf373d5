package fence

import "context"

// Watch returns a Guard that does what g does, and reports each claim that g has judged, as
// Observe does: once, with nil after an operation that g admitted, be it that the operation
// failed, and otherwise with what g returned. Other errors of g, such as that of a context
// that was done, are not reported: g has judged nothing.
func Watch(g Guard, report func(ctx context.Context, c Claim, refused error)) Guard {
	return watcher{g, report}
}

type watcher struct {
	guard  Guard
	report func(ctx context.Context, c Claim, refused error)
}

// Do implements Guard.
func (w watcher) Do(ctx context.Context, c Claim, op func(context.Context) error) error {
	_, err := w.judge(ctx, c, op)
	return err
}

// judge has the Guard do an operation, and reports the judgement. refused: there is one, and
// the operation did not run.
func (w watcher) judge(ctx context.Context, c Claim, op func(context.Context) error) (refused bool, err error) {
	ran := false
	err = w.guard.Do(ctx, c, func(ctx context.Context) error {
		ran = true
		return op(ctx)
	})
	refused = !ran && refuses(err)
	switch {
	case ran:
		w.report(ctx, c, nil)
	case refused:
		w.report(ctx, c, err)
	}
	return refused, err
}
