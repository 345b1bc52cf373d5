package lab

import (
	"context"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/internal/scenario"
)

// listed is Options.Next of a story whose steps are all known.
func listed(steps []scenario.Step) func() <-chan scenario.Step {
	all := make(chan scenario.Step, len(steps))
	for _, step := range steps {
		all <- step
	}
	close(all)
	return func() <-chan scenario.Step { return all }
}

func (r *run) play(ctx context.Context, next func() <-chan scenario.Step) error {
	for {
		r.show(0)
		step, more, err := r.awaitStep(ctx, next())
		if err != nil || !more {
			return err
		}
		r.done = append(r.done, step)
		if err := r.step(ctx, step); err != nil {
			return fmt.Errorf("%s.yaml line %d, step %q: %w", r.scenario.Name, step.Line, step, r.because(ctx, err))
		}
		r.state.ascribe()
		r.recorder.flush()
	}
}

// lastWords is how long a failed step waits for news: the kernel may tell of a server's end last.
const lastWords = 300 * time.Millisecond

// because is why a step has failed. That a process has ended, or what it said, says more than what follows.
func (r *run) because(ctx context.Context, failed error) error {
	within, cancel := context.WithTimeout(ctx, lastWords)
	defer cancel()
	news := r.await(within, "its end", 2*lastWords, func() (bool, error) { return false, nil })
	if within.Err() != nil {
		return failed
	}
	return fmt.Errorf("%w (%w)", news, failed)
}

// awaitStep returns the next step, if there is one. Meanwhile the run takes in what the accounts say.
func (r *run) awaitStep(ctx context.Context, next <-chan scenario.Step) (step scenario.Step, more bool, err error) {
	const what = "the next step"
	for {
		select { // what is there already comes before what the accounts have to say
		case step, more = <-next:
			return step, more, nil
		default:
		}
		select {
		case step, more = <-next:
			return step, more, nil
		case events := <-r.hub:
			if err := r.hear(events, what); err != nil {
				return step, false, err
			}
			r.state.ascribe()
			r.show(0)
		case f := <-r.broken:
			if _, wanted := r.world.ends.Load(f.process); !wanted {
				return step, false, fmt.Errorf("waiting for %s: %w", what, f.err)
			}
		case <-ctx.Done():
			return step, false, context.Cause(ctx)
		}
	}
}

// lookPause is the least time from look to look while a step goes on: a count has thousands of events.
const lookPause = 100 * time.Millisecond

// show shows the history so far, if the last look was so long ago.
func (r *run) show(ago time.Duration) {
	began := len(r.recorder.old) > 0
	if r.Look == nil || !began || time.Since(r.looked) < ago {
		return
	}
	r.Look(r.recorder.soFar())
	r.looked = time.Now()
}
