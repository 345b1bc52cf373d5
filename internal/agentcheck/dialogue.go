package agentcheck

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

// read hands over what the client says, to its end.
func (c *client) read() {
	defer close(c.lines)
	err := c.process.ReadLines(c.process.Stdout, func(b []byte) error {
		c.lines <- line{text: slices.Clone(b)}
		return nil
	})
	c.lines <- line{err: err}
}

// end ends the client.
func (c *client) end() {
	_ = c.process.Kill() // one that has ended is as good
	for range c.lines {
	}
}

// note adds a line to the dialogue.
func (c *client) note(sign string, text []byte) {
	c.trial.said = append(c.trial.said, fmt.Sprintf("%s %s %.300s", c.name, sign, trimmed(text)))
}

func trimmed(text []byte) []byte {
	if n := len(text); n > 0 && text[n-1] == '\n' {
		return text[:n-1]
	}
	return text
}

// tell tells the client a command.
func (c *client) tell(command string) error {
	c.note(">", []byte(command))
	if _, err := io.WriteString(c.process.Stdin, command+"\n"); err != nil {
		return fmt.Errorf("tell it to %q: %w", command, err)
	}
	return nil
}

// next is what the client says next.
func (c *client) next(ctx context.Context) (e history.Event, err error) {
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
		return e, nil
	case <-time.After(c.trial.Patience):
		return e, fmt.Errorf("%s says nothing for %v", c.process.Name, c.trial.Patience)
	case <-ctx.Done():
		return e, context.Cause(ctx)
	}
}

// answer is what a client says to a command by which it asks the lock service or the storage.
type answer struct{ asked, outcome history.Event }

// do tells the client a command, and awaits the outcome of what it asks.
func (c *client) do(ctx context.Context, command string) (a answer, err error) {
	if err := c.tell(command); err != nil {
		return a, err
	}
	return c.outcome(ctx, command)
}

// unableError says that a client does not obey a command.
type unableError struct{ command, text string }

func (e *unableError) Error() string {
	return fmt.Sprintf("it answers %q by an error: %s", e.command, e.text)
}

// outcome awaits the next outcome of what a command asks.
func (c *client) outcome(ctx context.Context, command string) (a answer, err error) {
	for {
		e, err := c.next(ctx)
		if err != nil {
			return a, fmt.Errorf("after %q: %w", command, err)
		}
		switch e.Kind {
		case history.KindError:
			return a, &unableError{command, e.Text}
		case history.KindInvoke:
			if a.asked.Kind != "" {
				return a, fmt.Errorf("%q: a second invoke comes before the outcome of the first one", command)
			}
			a.asked = e
		case history.KindOK, history.KindFail, history.KindUnknown:
			a.outcome = e
			return a, a.check(command)
		case history.KindLost:
			c.lost = append(c.lost, e)
		}
	}
}

// sends tells the client a command that is over with its invoke.
func (c *client) sends(ctx context.Context, command string) (a answer, err error) {
	if err := c.tell(command); err != nil {
		return a, err
	}
	for {
		e, err := c.next(ctx)
		switch {
		case err != nil:
			return a, fmt.Errorf("after %q: %w", command, err)
		case e.Kind == history.KindError:
			return a, &unableError{command, e.Text}
		case e.Kind == history.KindInvoke:
			a.asked = e
			return a, nil
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
		{"token", text(asked), text(o), true},
	} {
		if f.asked != f.outcome && !(f.learned && f.asked == "") {
			return fmt.Errorf("%q: the %s of the invoke is %q, and that of the outcome %q: want the same", command, f.name, f.asked, f.outcome)
		}
	}
	return nil
}

// text is the token of an event, as it is written; "" is none.
func text(e history.Event) string {
	if e.Token == 0 {
		return ""
	}
	return e.Token.String()
}

// ok is do for a command that has to succeed.
func (c *client) ok(ctx context.Context, command string) (answer, error) {
	a, err := c.do(ctx, command)
	if err == nil && a.outcome.Kind != history.KindOK {
		err = fmt.Errorf("%q: the outcome is %q (%s), want ok", command, a.outcome.Kind, a.outcome.Text)
	}
	return a, err
}

// begin tells the client to begin something, and awaits that it stands.
func (c *client) begin(ctx context.Context, command string) (history.Event, error) {
	if err := c.tell("begin " + command); err != nil {
		return history.Event{}, err
	}
	e, err := c.next(ctx)
	if err == nil && (e.Kind != history.KindNote || e.Op == "") {
		err = fmt.Errorf(`"begin %s": it says the kind %q and the op %q, want a note with the op of what it stands before`, command, e.Kind, e.Op)
	}
	return e, err
}
