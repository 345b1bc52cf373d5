package locklaws

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service/custom"
	"github.com/fencelab/fencelab/pkg/fence"
)

// said is what the lock service has said of tenures, line by line. Its standard output is a file: what it had
// written before it answered is there when the answer is.
type said struct {
	path string

	mu      sync.Mutex
	read    int // bytes of the file
	account *custom.Account
	words   []custom.Word
	answers map[string]string // owner → what it was told when it asked for a lock
}

func (s *said) tell(owner, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[owner] = answer
}

// hear takes in what is new. A line that is refused is refused again whenever it is asked.
func (s *said) hear() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, err := os.ReadFile(s.path)
	if err != nil {
		return err
	}
	for {
		line, _, whole := bytes.Cut(all[s.read:], []byte("\n"))
		if !whole {
			return nil
		}
		w, err := s.account.Line(line)
		if err != nil {
			return fmt.Errorf("%w; it says %.80q", err, line)
		}
		s.read += len(line) + 1
		s.words = append(s.words, w)
	}
}

// find is the word of a tenure's grant or end, if it was said by now.
func (s *said) find(kind history.Kind, tenure string) (w custom.Word, found bool, err error) {
	if err := s.hear(); err != nil {
		return w, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.words, func(w custom.Word) bool { return w.Kind == kind && w.Tenure == tenure })
	if i < 0 {
		return w, false, nil
	}
	return s.words[i], true, nil
}

// saidFirst finds a word of what was answered just now.
func (t *trial) saidFirst(kind history.Kind, scope, tenure, answer string) (w custom.Word, err error) {
	w, found, err := t.said.find(kind, tenure)
	switch {
	case err != nil:
	case !found:
		err = fmt.Errorf("it answers %q to %s, and no line said before that the tenure is %s", answer, tenure, kind)
	case w.Scope != scope:
		err = fmt.Errorf("its line on %s names the scope %q, want %q", tenure, w.Scope, scope)
	}
	return w, err
}

// rounds is how often a line is looked for that may be late now and then.
const rounds = 20

func newScope() string { return "locklaws-" + rand.Text() }

// grantSaid has a client take a lock, and looks for the line.
func (t *trial) grantSaid(ctx context.Context, c *client, scope, owner string) (custom.Word, error) {
	token, err := c.take(ctx, scope, owner)
	if err != nil {
		return custom.Word{}, fmt.Errorf("a lock that nobody has: %w", err)
	}
	w, err := t.saidFirst(history.KindGranted, scope, owner, granted)
	if err == nil && (w.Token != token || w.Mode != fence.Exclusive) {
		err = fmt.Errorf("its line on %s has the token %d, %v, and it answers %d: want the same, and exclusive",
			owner, w.Token, w.Mode, token)
	}
	return w, err
}

func grantsAreSaid(ctx context.Context, t *trial, c *client) error {
	for range rounds {
		if _, err := t.grantSaid(ctx, c, newScope(), rand.Text()); err != nil {
			return err
		}
	}
	return nil
}

func releasesAreSaid(ctx context.Context, t *trial, c *client) error {
	for range rounds {
		scope, owner := newScope(), rand.Text()
		if _, err := c.take(ctx, scope, owner); err != nil {
			return err
		}
		if answer, err := c.ask(ctx, "unlock", scope, owner); err != nil || answer[0] != released {
			return fmt.Errorf("an unlock of what is held: it answers %q (%v), want %s", answer, err, released)
		}
		w, err := t.saidFirst(history.KindEnded, scope, owner, released)
		if err == nil && w.Cause != history.CauseReleased {
			err = fmt.Errorf("its line on %s, which was unlocked, has the cause %q, want %q", owner, w.Cause, history.CauseReleased)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// expiriesAreSaid asks nothing meanwhile: a lock service that looks at its leases when somebody asks is found.
func expiriesAreSaid(ctx context.Context, t *trial, c *client) error {
	scope, owner, asked := newScope(), rand.Text(), time.Duration(time.Now().UnixNano())
	began, err := t.grantSaid(ctx, c, scope, owner)
	if err != nil {
		return err
	}
	for {
		w, found, err := t.said.find(history.KindEnded, owner)
		lasted := w.At - asked // at least: the lease began later
		switch {
		case err != nil:
			return err
		case found && (w.Cause != history.CauseExpired || lasted < t.ttl-tolerance):
			return fmt.Errorf("a lease of %v ends after %v, by its line with the cause %q: want %q, and not before",
				t.ttl, lasted, w.Cause, history.CauseExpired)
		case found:
			_, err := t.grantSaid(ctx, c, scope, rand.Text())
			return err
		case time.Now().UnixNano() > int64(began.At+t.ttl+slack):
			return fmt.Errorf("nobody renews a lease of %v: %v after the grant no line says that it ended", t.ttl, t.ttl+slack)
		}
		time.Sleep(pollPause) // stands for no event: the next look
	}
}

// renewalsAreTheTenures: one that is over is renewed no more, be the lock free or another's. In the laws of locktest no
// holder asks for that, as it knows by its own clock that its tenure is over.
func renewalsAreTheTenures(ctx context.Context, t *trial, c *client) error {
	if !t.renews {
		return fmt.Errorf("it renews nothing: %w", errors.ErrUnsupported)
	}
	scope, old := newScope(), rand.Text()
	if _, err := c.take(ctx, scope, old); err != nil {
		return err
	}
	if _, err := c.ask(ctx, "unlock", scope, old); err != nil {
		return err
	}
	for _, when := range []string{"", ", where another one has the lock"} {
		if answer, err := c.ask(ctx, "renew", scope, old, t.milliseconds()); err != nil || answer[0] != gone {
			return fmt.Errorf("a renewal of what was unlocked%s: it answers %q (%v), want %s", when, answer, err, gone)
		}
		if _, err := c.take(ctx, scope, rand.Text()); when == "" && err != nil {
			return fmt.Errorf("after a renewal of what was unlocked: %w", err)
		}
	}
	return nil
}

// allIsOneStory looks at all that was said while the other laws were judged.
func allIsOneStory(_ context.Context, t *trial, _ *client) error {
	if err := t.said.hear(); err != nil {
		return err
	}
	t.said.mu.Lock()
	defer t.said.mu.Unlock()
	open := make(map[string]string) // scope → the tenure that is not over
	for _, w := range t.said.words {
		answer, asked := t.said.answers[w.Tenure]
		switch before := open[w.Scope]; {
		case w.Kind == history.KindEnded && before == w.Tenure:
			delete(open, w.Scope)
		case w.Kind == history.KindEnded:
		case before != "":
			return fmt.Errorf("its lines grant %s to %s, and the tenure of %s was not over", w.Scope, w.Tenure, before)
		case !asked:
			return fmt.Errorf("its lines grant %s to %s, and nobody has asked for that", w.Scope, w.Tenure)
		case answer == held:
			return fmt.Errorf("its lines grant %s to %s, who was told that it is held", w.Scope, w.Tenure)
		default:
			open[w.Scope] = w.Tenure
		}
	}
	return nil
}
