package kv

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// Record tells of one operation that an engine did or refused, or knew as done before.
type Record struct {
	Index     int64 // its place in the engine's order, from 1
	Request   Request
	Op        Op
	Missing   bool        // a read found no value
	Duplicate bool        // by its sequence number it was done before, and was not done again
	Mark      fence.Token // of the scope, after an admission; 0 where fencing is off, and after that of a shared claim
	Err       error       // why it was refused; nil: it took place, or is a duplicate
}

// Line is a record as the journal has it, one JSON object a line. The first
// line of a journal has only Time and Listen.
type Line struct {
	Time   time.Time `json:"time"`
	Listen string    `json:"listen,omitempty"` // the address that the storage serves

	Index    int64            `json:"index,omitempty"`
	Op       string           `json:"op,omitempty"` // read, write or delete
	ID       string           `json:"request,omitempty"`
	Scope    string           `json:"scope,omitempty"`
	Token    fence.Token      `json:"token,omitempty,string"`
	Sequence int64            `json:"sequence,omitempty,string"`
	Mode     fence.Mode       `json:"mode,omitempty"`
	Key      string           `json:"key,omitempty"`
	Value    string           `json:"value,omitempty"`
	Missing  bool             `json:"missing,omitempty"`
	Mark     fence.Token      `json:"mark,omitempty,string"`
	Refused  fencehttp.Reason `json:"refused,omitempty"` // why, where it was
	Error    string           `json:"error,omitempty"`

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

// Observe writes a record. It has the form of Options.Observe.
func (j *Journal) Observe(r Record) {
	line := Line{
		Time: time.Now(), Index: r.Index, Op: r.Op.Kind, ID: r.Request.ID,
		Scope: r.Request.Scope, Token: r.Request.Token, Sequence: r.Request.Sequence, Mode: r.Request.Mode,
		Key: r.Op.Key, Value: r.Op.Value, Missing: r.Missing, Duplicate: r.Duplicate, Mark: r.Mark,
	}
	if r.Err != nil {
		line.Refused, line.Error = fencehttp.ReasonOf(r.Err), r.Err.Error()
		if stale, ok := errors.AsType[*fence.StaleError](r.Err); ok {
			line.Mark = stale.Mark
		}
	}
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
