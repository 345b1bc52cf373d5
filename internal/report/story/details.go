package story

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

// Details says all that is known of a row, a line each: a name, a colon, and
// the value.
func (r Row) Details() string {
	e := r.Event
	var b strings.Builder
	b.WriteString(r.Text.String())
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "\n%s: %s", name, value)
		}
	}
	number := func(name string, n int64) {
		if n != 0 {
			line(name, fmt.Sprint(n))
		}
	}
	line("time", Clock(r.At)+" s")
	if e.Lane != "" {
		line("told by", name(e.Lane))
	}
	line("client", client(e))
	line("operation", e.Op)
	line("request", Clean(e.Request, maxText))
	line("a retry of", Clean(e.RetryOf, maxText))
	line("lock", e.Scope)
	line("tenure", Clean(e.Tenure, maxText))
	number("token", int64(e.Token))
	number("mark", int64(e.Mark))
	number("sequence", e.Sequence)
	if e.Mode != fence.Exclusive {
		line("mode", e.Mode.String())
	}
	line("key", e.Key)
	line("value", e.Value)
	line("changes", pairs(e, "").String())
	line("reason", e.Reason)
	line("cause", e.Cause)
	if e.Took != 0 {
		line("took", Say("%s", Took(e.Took)).String())
	}
	number("place in the storage's order", e.Index)
	line("remark", e.Text)
	return b.String()
}

// client is the one that e is about; "": none.
func client(e history.Event) string {
	switch e.Lane {
	case service, history.LaneStorage, history.LaneLab:
		return e.Client
	}
	return cmp.Or(e.Client, e.Lane)
}
