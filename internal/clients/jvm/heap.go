package jvm

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

func (c *Client) Load(ctx context.Context, want time.Duration) (took time.Duration, said string, err error) {
	answer, err := c.ask(ctx, "load", url.Values{"want": {nanoseconds(want)}}, 0)
	if err != nil {
		return 0, "", err
	}
	c.stops = answer.Get("stops") == "true"
	if took, err = tookOf(answer); err != nil {
		return 0, "", err
	}
	said = fmt.Sprintf("a collection of %s MiB stops it for %.2f s", answer.Get("mebibytes"), took.Seconds())
	if took < want {
		said += fmt.Sprintf(", not for %v: its collector does most of its work while it runs", want)
	}
	return took, said, nil
}

// Collect tells of the pause first if the collector stops the program. Else it is known only at the end
// when the program stood still.
func (c *Client) Collect(ctx context.Context, say func(history.Event)) error {
	pause := func() { say(history.Event{Kind: history.KindPause, Cause: history.CauseGC}) }
	if c.stops {
		pause()
	} else {
		say(history.Event{Kind: history.KindNote, Text: "its collector works, and the program goes on meanwhile"})
	}
	answer, err := c.ask(ctx, "gc", url.Values{}, 0)
	if err != nil {
		return err
	}
	took, err := tookOf(answer)
	if !c.stops {
		pause()
	}
	say(history.Event{Kind: history.KindResume, Cause: history.CauseGC, Took: took})
	say(history.Event{Kind: history.KindNote, Text: "the log of its JVM says: " + answer.Get("words")})
	return err
}

func tookOf(answer url.Values) (time.Duration, error) {
	took, err := strconv.ParseInt(answer.Get("took"), 10, 64)
	return time.Duration(took), err
}
