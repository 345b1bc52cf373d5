package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

type counting struct {
	key   string
	times int
	halts []int // stands before the write of these increments, which count from 1, once each
}

func parseCount(arg string) (c counting, err error) {
	fields := strings.Fields(arg)
	bad := fmt.Errorf(`count %s: want "count KEY N" or "count KEY N I,J...", numbers from 1, the latter up to N`, arg)
	if len(fields) != 2 && len(fields) != 3 {
		return c, bad
	}
	c.key = fields[0]
	if c.times, err = strconv.Atoi(fields[1]); err != nil || c.times < 1 {
		return c, bad
	}
	if len(fields) == 3 {
		for s := range strings.SplitSeq(fields[2], ",") {
			halt, err := strconv.Atoi(s)
			if err != nil || halt < 1 || halt > c.times {
				return c, bad
			}
			c.halts = append(c.halts, halt)
		}
	}
	return c, nil
}

// maxTries is how often one increment is begun: one that the storage always refuses would go on for ever.
const maxTries = 20

// countPatience is for how long one increment may wait for the lock: until all others have had it.
const countPatience = time.Hour

// errAgain: the increment was not done, and can be under another lock.
var errAgain = fence.Definite.New(fmt.Sprintf("the lock was lost, or the token refused as stale, %d times", maxTries))

// count adds 1 to a key, many times. An increment that lost its lock is begun again; other errors end it.
func (a *agent) count(ctx context.Context, arg string) error {
	c, err := parseCount(arg)
	if err != nil {
		return err
	}
	attempts := 0
	outcome := a.invoke(history.Event{Op: history.OpCount, Scope: a.Scope, Key: c.key})
	for n := 1; n <= c.times && err == nil; n++ {
		err = errAgain
		for try := 0; try < maxTries && errors.Is(err, errAgain); try++ {
			attempts++
			err = a.increment(ctx, &c, n)
		}
		if err != nil {
			err = fmt.Errorf("increment %d of %d: %w", n, c.times, err)
		}
	}
	if attempts > c.times {
		a.report(history.Event{Kind: history.KindNote, Scope: a.Scope,
			Text: fmt.Sprintf("%s has made %d attempts at %d increments", a.Name, attempts, c.times)})
	}
	a.conclude(outcome, err)
	return nil
}

func (a *agent) increment(ctx context.Context, c *counting, n int) error {
	switch err := a.take(ctx, history.OpLock, a.Scope, "", countPatience); {
	case errors.Is(err, service.ErrRanOut):
		return errAgain
	case err != nil:
		return err
	}
	h := a.find(a.Scope)
	err := a.addOne(ctx, c, n)
	switch outcome := a.release(ctx, a.Scope); {
	case outcome.Kind == history.KindUnknown:
		return errors.Join(err, failure(outcome))
	case outcome.Kind == history.KindFail && h.transaction && err == nil:
		return errAgain // it is undone
	}
	return err
}

func (a *agent) addOne(ctx context.Context, c *counting, n int) error {
	got := a.perform(ctx, a.newRequest(history.OpRead, a.Scope, c.key, ""))
	if got.Kind != history.KindOK {
		return failure(got)
	}
	var value int
	if !got.Missing {
		var err error
		if value, err = strconv.Atoi(got.Value); err != nil {
			return fence.Definite.Wrap(fmt.Errorf("%s is no number: %w", c.key, err))
		}
	}
	write := a.newRequest(history.OpWrite, a.Scope, c.key, strconv.Itoa(value+1))
	halt := slices.Index(c.halts, n)
	if halt < 0 {
		if outcome, ok := a.mayGoOn(ctx, write); !ok {
			return failure(outcome)
		}
		return failure(a.perform(ctx, write))
	}
	if a.find(a.Scope).lost() {
		return errAgain
	}
	c.halts = slices.Delete(c.halts, halt, halt+1)
	e := a.about(a.Scope)
	e.Op, e.Key = history.OpCount, c.key
	e.Text = fmt.Sprintf("%s has checked it holds %s with token %d, and stands before increment %d of %d", a.Name, e.Scope, e.Token, n, c.times)
	a.stand(e)
	defer a.goOn()
	if err := a.awaitFinish(ctx); err != nil {
		return err
	}
	return failure(a.perform(ctx, write))
}

func failure(outcome history.Event) error {
	switch {
	case outcome.Kind == history.KindOK:
		return nil
	case outcome.Reason == string(fencehttp.ReasonStale), outcome.Reason == history.ReasonLost:
		return errAgain
	}
	err := fmt.Errorf("%s: %s", outcome.Op, outcome.Text)
	if outcome.Kind == history.KindUnknown {
		return err
	}
	return fence.Definite.Wrap(err)
}

// awaitFinish obeys nothing but the command finish.
func (a *agent) awaitFinish(ctx context.Context) error {
	for {
		select {
		case line, more := <-a.lines:
			switch {
			case !more:
				return fence.Definite.New("the input ended before it was told to finish")
			case line == "finish" || line == "send finish":
				return nil
			}
			a.complain(fmt.Errorf("%s: it stands in the middle of a count, and waits for finish", line))
		case <-ctx.Done():
			return fence.Definite.Wrap(context.Cause(ctx))
		}
	}
}
