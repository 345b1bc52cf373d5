package kvhttp

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/fencelab/fencelab/internal/access"
	"github.com/fencelab/fencelab/internal/kv"
)

// ContentTypeSnapshot is that of GET /v1/snapshot: lines of JSON.
const ContentTypeSnapshot = "application/jsonl"

// stallTimeout is how long a client may take for a piece of a snapshot. The whole
// may take as long as it does.
const stallTimeout = 30 * time.Second

// serveSnapshot sends all that the engine holds. Once it has begun, an error can
// only break it off: a snapshot without its last line is refused by restore.
func (h *handler) serveSnapshot(c *call) error {
	if err := c.who.May(access.Admin, ""); err != nil {
		return err
	}
	if !h.snapshot.TryLock() {
		return &kv.LimitError{Limit: kv.LimitSnapshots, Max: 1, Say: "wait for the one that is under way"}
	}
	defer h.snapshot.Unlock()
	c.w.Header().Set("Content-Type", ContentTypeSnapshot)
	c.w.Header().Set("Content-Disposition", `attachment; filename="fencelab.snapshot"`)
	w := &patient{w: c.w, control: http.NewResponseController(c.w), since: time.Now()}
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

// A snapshot rests four times as long as it has worked for a piece, so that others
// have four fifths of a processor that it shares; but no longer than maxRest,
// because on a busy machine most of that time was not the snapshot's.
const (
	restPerWork = 4
	maxRest     = 10 * time.Millisecond
)

// patient gives the client time anew for each piece, and leaves others time between
// them.
type patient struct {
	w       io.Writer
	control *http.ResponseController
	began   bool
	since   time.Time // when work on the next piece began
}

func (p *patient) Write(b []byte) (int, error) {
	p.began = true
	time.Sleep(min(restPerWork*time.Since(p.since), maxRest))
	// An error means that there is no deadline to move, as in a test.
	_ = p.control.SetWriteDeadline(time.Now().Add(stallTimeout))
	n, err := p.w.Write(b)
	p.since = time.Now()
	return n, err
}
