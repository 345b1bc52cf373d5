package agentcheck

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/fail"
)

func (c *client) read() {
	defer close(c.lines)
	err := c.process.ReadLines(c.process.Stdout, func(b []byte) error {
		c.lines <- line{text: slices.Clone(b)}
		return nil
	})
	c.lines <- line{err: err}
}

func (c *client) end() {
	_ = c.process.Kill() // one that has ended is as good
	for range c.lines {
	}
}

func (c *client) note(sign string, text []byte) {
	c.trial.said = append(c.trial.said, fmt.Sprintf("%s %s %.300s", c.name, sign, bytes.TrimSuffix(text, []byte("\n"))))
}

func (c *client) tell(command string) {
	c.note(">", []byte(command))
	if _, err := io.WriteString(c.process.Stdin, command+"\n"); err != nil {
		failf("tell it to %q: %w", command, err)
	}
}

// next is what the client says next, after a command; "" is none.
func (c *client) next(after string) history.Event {
	e, err := c.hear()
	if err != nil && after != "" {
		err = fmt.Errorf("after %q: %w", after, err)
	}
	fail.If(err)
	return e
}

func (c *client) hear() (e history.Event, err error) {
	select {
	case l := <-c.lines:
		if l.err != nil {
			return e, l.err
		}
		c.note("<", l.text)
		if e, err = c.reader.Event(l.text); err == nil {
			_, err = history.ParseLine(l.text)
		}
		if err != nil {
			return e, fmt.Errorf("%s says %.200q: %w", c.process.Name, l.text, err)
		}
		if e.Kind == history.KindInvoke {
			c.trial.asked[e.Request] = true
		}
		return e, nil
	case <-time.After(c.trial.Patience):
		return e, fmt.Errorf("%s says nothing for %v", c.process.Name, c.trial.Patience)
	case <-c.trial.ctx.Done():
		return e, context.Cause(c.trial.ctx)
	}
}

// answer is what a client says to a command by which it asks the lock service or the storage.
type answer struct{ asked, outcome history.Event }

// do tells the client a command, and awaits the outcome of what it asks.
func (c *client) do(command string) answer {
	c.tell(command)
	return c.outcome(command)
}

// unableError is why a check that is optional is left out.
type unableError struct{ why string }

func (e *unableError) Error() string { return e.why }

// unable ends the dialogue as the client does not obey a command.
func unable(command string, e history.Event) {
	fail.If(&unableError{fmt.Sprintf("it answers %q by an error: %s", command, e.Text)})
}

func (c *client) outcome(command string) (a answer) {
	for {
		switch e := c.next(command); e.Kind {
		case history.KindError:
			unable(command, e)
		case history.KindInvoke:
			if a.asked.Kind != "" {
				failf("%q: a second invoke comes before the outcome of the first one", command)
			}
			a.asked = e
		case history.KindOK, history.KindFail, history.KindUnknown:
			a.outcome = e
			fail.If(a.check(command))
			return a
		case history.KindLost:
			c.lost = append(c.lost, e)
		}
	}
}

// sends tells the client a command that is over with its invoke.
func (c *client) sends(command string) answer {
	c.tell(command)
	for {
		switch e := c.next(command); e.Kind {
		case history.KindError:
			unable(command, e)
		case history.KindInvoke:
			return answer{asked: e}
		}
	}
}

// check holds an outcome to what was asked.
func (a answer) check(command string) error {
	asked, o := a.asked, a.outcome
	if asked.Kind == "" {
		return fmt.Errorf("%q: the outcome comes, and there was no invoke before", command)
	}
	for _, f := range []struct {
		name, asked, outcome string
		learned              bool // the outcome can say more
	}{
		{"op", asked.Op, o.Op, false},
		{"scope", asked.Scope, o.Scope, false},
		{"key", asked.Key, o.Key, false},
		{"value", asked.Value, o.Value, asked.Op == history.OpRead},
		{"request", asked.Request, o.Request, false},
		{"tenure", asked.Tenure, o.Tenure, true},
		{"token", history.Decimal(asked.Token), history.Decimal(o.Token), true},
	} {
		if f.asked != f.outcome && !(f.learned && f.asked == "") {
			return fmt.Errorf("%q: the %s of the invoke is %q, and that of the outcome %q: want the same", command, f.name, f.asked, f.outcome)
		}
	}
	return nil
}

// ok is do for a command that has to succeed.
func (c *client) ok(command string) answer {
	a := c.do(command)
	if a.outcome.Kind != history.KindOK {
		failf("%q: the outcome is %q (%s), want ok", command, a.outcome.Kind, a.outcome.Text)
	}
	return a
}

// begin tells the client to begin something, and awaits that it stands.
func (c *client) begin(command string) history.Event {
	c.tell("begin " + command)
	e := c.next("")
	if e.Kind != history.KindNote || e.Op == "" {
		failf(`"begin %s": it says the kind %q and the op %q, want a note with the op of what it stands before`, command, e.Kind, e.Op)
	}
	return e
}
