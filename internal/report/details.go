package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
)

// details says all that is known of a row, a line each: a name, a colon, and
// the value.
func details(r Row) string {
	e := r.Event
	var b strings.Builder
	b.WriteString(r.Text.String())
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "\n%s: %s", name, value)
		}
	}
	line("time", clock(r.At)+" s")
	line("told by", told(e))
	line("client", cmp.Or(e.Client, client(e.Lane)))
	line("operation", e.Op)
	line("request", clean(e.Request, maxText))
	line("a retry of", clean(e.RetryOf, maxText))
	line("lock", e.Scope)
	line("tenure", clean(e.Tenure, maxText))
	line("token", number(int64(e.Token)))
	line("mark", number(int64(e.Mark)))
	line("sequence", number(e.Sequence))
	line("key", e.Key)
	line("value", e.Value)
	line("changes", pairs(e, "").String())
	line("reason", e.Reason)
	line("cause", e.Cause)
	if e.Took != 0 {
		line("took", strings.ReplaceAll(took(e.Took), tie, " "))
	}
	line("place in the storage's order", number(e.Index))
	line("remark", e.Text)
	return b.String()
}

// told says whose account e is.
func told(e history.Event) string {
	if e.Lane == "" {
		return ""
	}
	return name(e.Lane)
}

// client is the lane of a client; "" for the others.
func client(lane string) string {
	switch lane {
	case history.LaneEtcd, history.LaneStorage, history.LaneLab:
		return ""
	}
	return lane
}

// number writes n; 0 means that there is none.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
