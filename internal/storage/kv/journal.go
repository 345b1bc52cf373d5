package kv

import (
	"encoding/json"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// Line tells of one operation that an engine did or refused, or knew as done before. In the journal it is a
// JSON object on a line. The first line of a journal has only Time and Listen.
type Line struct {
	Time   time.Time `json:"time"`             // set by the journal
	Listen string    `json:"listen,omitempty"` // the address that the storage serves

	Index    int64       `json:"index,omitempty"` // its place in the engine's order, from 1
	Op       string      `json:"op,omitempty"`    // read, write or delete
	ID       string      `json:"request,omitempty"`
	Scope    string      `json:"scope,omitempty"`
	Token    fence.Token `json:"token,omitempty,string"`
	Sequence int64       `json:"sequence,omitempty,string"`
	Mode     fence.Mode  `json:"mode,omitempty"`
	Key      string      `json:"key,omitempty"`
	Value    string      `json:"value,omitempty"`
	Missing  bool        `json:"missing,omitempty"` // a read found no value
	// Mark is the mark of the scope after an admission; 0 where fencing is off, and after a shared claim. Of
	// a stale request it is the mark that refused the request.
	Mark    fence.Token      `json:"mark,omitempty,string"`
	Refused fencehttp.Reason `json:"refused,omitempty"` // why, where it was
	Would   fencehttp.Reason `json:"would,omitempty"`   // why it would have been refused, where tokens are only observed
	Error   string           `json:"error,omitempty"`

	Duplicate bool `json:"duplicate,omitempty"` // it was done before, and was not done again
}

// Journal writes what an engine does as JSON lines: the storage's own account of the order in which it
// applied requests, for gcsim and for people. It is no write-ahead log.
type Journal struct {
	mu  sync.Mutex
	enc *json.Encoder
	err error // of the first write that failed
}

// NewJournal writes to w.
func NewJournal(w io.Writer) *Journal { return &Journal{enc: json.NewEncoder(w)} }

// Listening writes the first line: the address that the storage serves.
func (j *Journal) Listening(addr string) { j.write(Line{Time: time.Now(), Listen: addr}) }

// Observe writes a line. Engines call it by Options.Observe.
func (j *Journal) Observe(line Line) {
	line.Time = time.Now()
	j.write(line)
}

// write logs the first failure and goes on: a storage does not stop serving
// because its journal is closed or its disk full. A reader that stays and does
// not read does stop it: the order of the account is that of the operations.
func (j *Journal) write(line Line) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return
	}
	if j.err = j.enc.Encode(line); j.err != nil {
		slog.Error("the journal ends here", "err", j.err)
	}
}
