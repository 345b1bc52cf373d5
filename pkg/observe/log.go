package observe

import (
	"context"
	"errors"
	"log/slog"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Log writes what becomes of locks and claims to a logger.
//
//	Error   a lock that was lost
//	Warn    a renewal that failed; an attempt or a release that failed for another reason
//	        than that others hold the lock, or that the context was done; a claim that was
//	        refused
//	Debug   all else
//
// A handler that waits holds up renewals.
type Log struct{ logger *slog.Logger }

var _ lock.Observer = Log{}

// NewLog returns a Log that writes to a logger.
func NewLog(l *slog.Logger) Log { return Log{l} }

// Observe implements lock.Observer.
func (l Log) Observe(ctx context.Context, e lock.Event) {
	level := levelOf(e)
	if !l.logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("scope", e.Scope)}
	if e.Op != "" {
		attrs = append(attrs, slog.String("op", e.Op))
	}
	if e.Grant != (lock.Grant{}) {
		attrs = append(attrs, slog.Int64("token", int64(e.Grant.Token)), slog.String("owner", e.Grant.Owner), slog.String("mode", e.Grant.Mode.String()))
	}
	if e.Took != 0 {
		attrs = append(attrs, slog.Duration("took", e.Took))
	}
	if e.Err != nil {
		attrs = append(attrs, slog.Any("error", e.Err))
	}
	l.logger.LogAttrs(ctx, level, "lock: "+e.Kind.String(), attrs...)
}

func levelOf(e lock.Event) slog.Level {
	switch Result(e) {
	case "lost", "cut_off":
		return slog.LevelError
	case "failed", "unknown":
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// Claim is for fence.Watch, fence.Observe and fencehttp.Options.
func (l Log) Claim(ctx context.Context, c fence.Claim, refused error) {
	level, said := slog.LevelDebug, Judgement(refused)
	if refused != nil && !errors.Is(refused, fence.ErrDuplicate) {
		level = slog.LevelWarn
	}
	if !l.logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("scope", c.Scope), slog.Int64("token", int64(c.Token)), slog.String("mode", c.Mode.String())}
	if c.Sequence != 0 {
		attrs = append(attrs, slog.Int64("sequence", c.Sequence))
	}
	if refused != nil {
		attrs = append(attrs, slog.Any("error", refused))
	}
	l.logger.LogAttrs(ctx, level, "fence: "+said, attrs...)
}
