package clientcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/cli"
	"github.com/fencelab/fencelab/internal/kv"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// Holder says which process holds a lock, as JSON, for a nemesis that looks for it.
type Holder struct {
	Name string `json:"name"`
	PID  int    `json:"pid"`
}

// counter is the key that work reads and writes.
const counter = "counter"

func workCommand(c *config) *cobra.Command {
	w := worker{config: c}
	cmd := &cobra.Command{
		Use:   "work",
		Short: "Take the lock, work, write, release; again and again",
		Long: `work takes the lock, reads the key "counter", works for a while, writes the key,
and releases the lock, for a number of rounds. A write that the storage refuses
as stale is counted, and is no failure: it is what fencing is for.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if w.rounds < 1 || w.work < 0 {
				return usage(cmd, fmt.Errorf("--rounds is %d and --work is %v, want 1 or more rounds of no negative time", w.rounds, w.work))
			}
			s, err := c.connect(cmd, c.askStorage)
			if err != nil {
				return err
			}
			defer s.close()
			w.services, w.log = s, cli.Logger(cmd.ErrOrStderr(), slog.LevelInfo).With("client", c.name)
			return w.run(cmd.Context())
		},
	}
	cmd.Flags().IntVar(&w.rounds, "rounds", 10, "how many")
	cmd.Flags().DurationVar(&w.work, "work", 300*time.Millisecond, "time between the read and the write of a round")
	return cmd
}

type worker struct {
	*config
	*services
	rounds int
	work   time.Duration
	log    *slog.Logger

	requests int
	written  int // writes
	stale    int // requests that were refused
	failed   int // requests that failed otherwise
	lost     int // tenures
}

func (w *worker) run(ctx context.Context) error {
	done := 0
	for done < w.rounds {
		t, err := w.take(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil {
			w.round(ctx, done+1, t)
		}
		if ctx.Err() != nil {
			break
		}
		done++
	}
	w.log.Info("done", "rounds", done, "written", w.written, "stale", w.stale, "failed", w.failed, "lost", w.lost)
	return nil
}

// take waits for the lock. One who waits can lose its place, too, and begins again.
func (w *worker) take(ctx context.Context) (service.Tenure, error) {
	return backoff.Retry(ctx, func() (service.Tenure, error) { return w.locks.Lock(ctx, w.lock, "") },
		backoff.WithNotify(func(err error, pause time.Duration) {
			w.log.Warn("no lock, trying again", "err", err, "in", pause)
		}))
}

// round works under t and releases it.
func (w *worker) round(ctx context.Context, n int, t service.Tenure) {
	token, _ := t.Shown()
	log := w.log.With("round", n, "token", token)
	log.Info("took the lock", "lock", w.lock)
	defer w.release(ctx, log, t)
	if err := w.announce(ctx, t); err != nil {
		log.Warn("cannot announce itself", "err", err)
	}
	var item kv.Item
	claim := fence.Claim{Scope: w.lock, Token: token}
	err := w.request(ctx, claim, func(ctx context.Context, req kv.Request) (err error) {
		item, err = w.store.Read(ctx, req, counter)
		return err
	})
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		w.tell(log, "read", err)
		return
	}
	log.Info("read", "key", counter, "value", item.Value)
	select {
	case <-time.After(w.work):
	case <-ctx.Done():
		return
	}
	select {
	case <-t.Done():
		log.Warn("lost the lock; writes all the same, as one does who did not look")
	default:
	}
	value := fmt.Sprintf("%s round %d", w.name, n)
	err = w.request(ctx, claim, func(ctx context.Context, req kv.Request) error {
		_, err := w.store.Write(ctx, req, counter, value)
		return err
	})
	if err != nil {
		w.tell(log, "write", err)
		return
	}
	w.written++
	log.Info("wrote", "key", counter, "value", value)
}

func (w *worker) request(ctx context.Context, claim fence.Claim, do func(context.Context, kv.Request) error) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	w.requests++
	return do(ctx, kv.Request{Claim: claim, ID: fmt.Sprintf("%s-%d", w.name, w.requests)})
}

// tell logs and counts a request that did not succeed.
func (w *worker) tell(log *slog.Logger, op string, err error) {
	if stale := new(fence.StaleError); errors.As(err, &stale) {
		w.stale++
		log.Warn(op+" refused: a later holder was here", "given", stale.Token, "highest", stale.Mark)
		return
	}
	w.failed++
	log.Error(op+" failed", "unknown outcome", errors.Is(err, kv.ErrUnknown), "err", err)
}

// announce says who holds the lock, where the lock service can keep that.
func (w *worker) announce(ctx context.Context, t service.Tenure) error {
	a, ok := t.(service.Announcer)
	if !ok {
		return nil
	}
	b, err := json.Marshal(Holder{Name: w.name, PID: os.Getpid()})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return a.Announce(ctx, string(b))
}

func (w *worker) release(ctx context.Context, log *slog.Logger, t lock.Tenure) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	switch err := t.Unlock(ctx); {
	case err == nil:
		log.Info("released the lock")
	case errors.Is(err, lock.ErrLost):
		w.lost++
		log.Warn("nothing to release: the lock was lost")
	default:
		log.Warn("the lock may stay taken until its lease ends", "err", err)
	}
}
