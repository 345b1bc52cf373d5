package agent

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/fencelab/fencelab/internal/history"
)

// words say what an event tells, for people, in a line.
func words(e history.Event) string {
	said := e.Text
	switch e.Kind {
	case history.KindInvoke:
		said = "asks: " + asked(e)
	case history.KindOK:
		said = "done: " + asked(e) + found(e)
	case history.KindFail:
		said = "failed: " + asked(e) + ": " + e.Text
	case history.KindUnknown:
		said = "nobody knows whether it is done: " + asked(e) + ": " + e.Text
	case history.KindError:
		said = "nothing is done: " + e.Text
	case history.KindPause:
		said = "stopped (" + e.Cause + ")"
	case history.KindResume:
		said = fmt.Sprintf("goes on; it stood still for %v", e.Took.Round(time.Millisecond))
	}
	return strings.Map(printable, said)
}

// asked is what was asked, and the token that was shown, or granted.
func asked(e history.Event) string {
	if e.Token == 0 {
		return describe(e)
	}
	return fmt.Sprintf("%s (token %d)", describe(e), e.Token)
}

// found is what a read found.
func found(e history.Event) string {
	switch {
	case e.Op != history.OpRead:
		return ""
	case e.Missing:
		return ": it has no value"
	}
	return ": " + e.Value
}

// printable keeps what is from elsewhere from moving the cursor.
func printable(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return unicode.ReplacementChar
}
