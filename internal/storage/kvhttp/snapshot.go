package kvhttp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/storage/access"
	"github.com/fencelab/fencelab/internal/storage/kv"
)

// ContentTypeSnapshot is the media type of the answer to GET /v1/snapshot: lines of JSON.
const ContentTypeSnapshot = "application/jsonl"

// stallTimeout is how long a client may take for a piece of a snapshot. The whole may take as long as it does.
const stallTimeout = 30 * time.Second

// serveSnapshot sends all that the engine holds. Once it has begun, an error can
// only break it off: a snapshot without its last line is refused by restore.
func (h *handler) serveSnapshot(c *call) error {
	if err := c.who.May(access.Admin, ""); err != nil {
		return err
	}
	w := &patient{w: c.w, control: http.NewResponseController(c.w), since: time.Now()}
	if err := h.snapshots.begin(w); err != nil {
		return err
	}
	defer h.snapshots.end(w)
	c.w.Header().Set("Content-Type", ContentTypeSnapshot)
	c.w.Header().Set("Content-Disposition", `attachment; filename="fencelab.snapshot"`)
	err := kv.WriteSnapshot(c.context(), h.engine, w)
	if err != nil && w.began {
		h.Logger.Error("snapshot broken off", "err", err, "request", c.id())
		panic(http.ErrAbortHandler) // so that the client sees no whole answer
	}
	if err != nil {
		c.w.Header().Del("Content-Disposition")
		return fmt.Errorf("snapshot: %w", err)
	}
	h.Logger.Info("snapshot sent", "client", h.client(c), "request", c.id())
	return nil
}

// A snapshot rests four times as long as it has worked for a piece, so that others have four fifths of a processor
// that it shares; but no longer than maxRest, because on a busy machine most of that time was not the snapshot's.
const (
	restPerWork = 4
	maxRest     = 10 * time.Millisecond
)

// maxLag is how far the client of a snapshot may be behind one that reads slowest bytes
// a second, where another client asks for a snapshot.
const maxLag = 5 * time.Second

// snapshots has one be sent at a time: meanwhile the engine memory keeps values that
// have been replaced, and the file of the engine bolt grows.
type snapshots struct {
	mu  sync.Mutex
	now *patient // nil: none is sent
}

// begin refuses a snapshot if another is under way, unless that one's client is slow:
// then the other one is broken off.
func (s *snapshots) begin(next *patient) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now != nil && !s.now.yield() {
		return &kv.LimitError{Limit: kv.LimitSnapshots, Max: 1, Say: "wait for the one that is under way"}
	}
	s.now = next
	return nil
}

func (s *snapshots) end(over *patient) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == over {
		s.now = nil
	}
}

// patient gives the client time anew for each piece, and leaves others time between them.
type patient struct {
	w       io.Writer
	control *http.ResponseController
	began   bool
	since   time.Time // when work on the next piece began

	mu    sync.Mutex
	waits time.Time     // when the client was given the piece that it has yet to take; zero: none
	lag   time.Duration // how far it was behind before that
	gone  bool          // another client's snapshot took this one's place
}

func (p *patient) Write(b []byte) (n int, err error) {
	p.began = true
	time.Sleep(min(restPerWork*time.Since(p.since), maxRest))
	for n < len(b) && err == nil {
		if err = p.wait(); err != nil {
			break
		}
		var sent int
		sent, err = p.w.Write(b[n:min(n+sendPiece, len(b))])
		n += sent
		p.proceed(sent)
	}
	p.since = time.Now()
	return n, err
}

func (p *patient) wait() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return errors.New("its client was slow, and another asked for a snapshot")
	}
	p.waits = time.Now()
	// An error means that there is no deadline to move, as in a test.
	_ = p.control.SetWriteDeadline(p.waits.Add(stallTimeout))
	return nil
}

func (p *patient) proceed(sent int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lag = max(0, p.lag+time.Since(p.waits)-time.Duration(sent)*time.Second/slowest)
	p.waits = time.Time{}
}

func (p *patient) yield() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	lag := p.lag
	if !p.waits.IsZero() {
		lag += time.Since(p.waits)
	}
	p.gone = lag > maxLag && p.control.SetWriteDeadline(time.Now()) == nil
	return p.gone
}
