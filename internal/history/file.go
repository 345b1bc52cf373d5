package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Write writes events as JSON lines.
func Write(w io.Writer, events []Event) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	return nil
}

// LineError says that a line is no event that can stand there.
type LineError struct {
	Line int // from 1
	Err  error
}

func (e *LineError) Error() string {
	return fmt.Sprintf("history: line %d is no event: %v", e.Line, e.Err)
}

func (e *LineError) Unwrap() error { return e.Err }

// Read reads what Write wrote. An error is a *LineError, or that of r.
func Read(r io.Reader) ([]Event, error) {
	br := bufio.NewReader(r)
	var events []Event
	for n := 1; ; n++ {
		line, rerr := br.ReadBytes('\n')
		if rerr != nil && !errors.Is(rerr, io.EOF) {
			return nil, fmt.Errorf("history: line %d: %w", n, rerr)
		}
		if len(line) > 0 || n == 1 {
			e, err := parse(line, n == 1)
			if err != nil {
				return nil, &LineError{n, err}
			}
			events = append(events, e)
		}
		if rerr != nil {
			return events, nil
		}
	}
}

// ParseLine reads a line that is not the first of a history.
func ParseLine(line []byte) (Event, error) { return parse(line, false) }

// parse reads a line, and refuses what would be judged as if it were not there or were something else.
func parse(line []byte, first bool) (e Event, err error) {
	if !utf8.Valid(line) { // JSON would make one key of two
		return e, errors.New("it is not UTF-8")
	}
	if err := checkFields(line); err != nil {
		return e, err
	}
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields() // those of run and changes
	if err := dec.Decode(&e); err != nil {
		return e, err
	}
	if first {
		return e, e.checkFirst()
	}
	return e, e.checkLine()
}

var fields = func() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Event]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}()

// checkFields refuses what package json overlooks: a field that stands twice or in other letters, a number
// that is no token, and what comes after the event.
func checkFields(line []byte) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return errors.New("want a JSON object")
	}
	var seen []string
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		name := token.(string) // as json has it in an object
		switch {
		case !slices.Contains(fields, name):
			return fmt.Errorf("it has a field %q, which is unknown", name)
		case slices.Contains(seen, name):
			return fmt.Errorf("it has the field %q twice", name)
		}
		seen = append(seen, name)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return err
		}
		if err := checkValue(name, value); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something comes after the event")
	}
	return nil
}

// checkValue refuses values that package json takes for absent ones.
func checkValue(name string, value json.RawMessage) error {
	switch {
	case string(value) == "null":
		return fmt.Errorf("its field %q is null: leave it out", name)
	case name == "token" || name == "mark":
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return fmt.Errorf("its %s is %s: want a decimal number in quotes", name, value)
		}
		if _, err := fence.ParseToken(text); err != nil {
			return fmt.Errorf("its %s is %q: %w", name, text, err)
		}
	}
	return nil
}

func (e Event) checkFirst() error {
	switch {
	case e.Kind != KindRun || e.Run == nil:
		return errors.New(`want an event of kind "run" that says what was run: this is no history of gcsim`)
	case e.Lane == "":
		return errors.New("it names no lane")
	case e.Run.Version < 0 || e.Run.Version > Version:
		return fmt.Errorf("the history is of version %d, and this gcsim reads those up to %d", e.Run.Version, Version)
	}
	return nil
}

// Needs say what an event of a kind has to have, and may have.
type Needs struct {
	Storage bool // it is the storage's to tell, and has a key
	Tenure  bool
	Lock    bool     // and a client and a lock
	Ops     []string // one of these; nil: any, or none
	Causes  []string // one of these, or none; nil: any
	Reasons []string // one of these; nil: any, or none
}

var clientOps = []string{OpLock, OpTryLock, OpUnlock, OpRenew, OpRead, OpWrite, OpDelete, OpChange, OpCount}

// StorageOps are those of which the storage tells. Each has a key.
var StorageOps = []string{OpRead, OpWrite, OpDelete}

var Kinds = map[Kind]Needs{
	KindRun:        {},
	KindGranted:    {Tenure: true, Lock: true},
	KindEnded:      {Tenure: true, Causes: []string{CauseExpired, CauseReleased, CauseRevoked}},
	KindQueued:     {Tenure: true, Lock: true},
	KindApplied:    {Storage: true, Ops: StorageOps},
	KindRefused:    {Storage: true, Ops: StorageOps, Reasons: refusals},
	KindDuplicate:  {Storage: true, Ops: StorageOps},
	KindUnanswered: {Storage: true, Ops: StorageOps},
	KindFinal:      {Storage: true},
	KindInvoke:     {Ops: clientOps},
	KindOK:         {Ops: clientOps},
	KindFail:       {Ops: clientOps},
	KindUnknown:    {Ops: clientOps},
	KindLost:       {Tenure: true},
	KindPause:      {Causes: []string{CauseStop, CauseGC}},
	KindResume:     {Causes: []string{CauseStop, CauseGC}},
	KindKill:       {},
	KindRestart:    {},
	KindNetwork:    {Causes: []string{CausePartition, CauseDeafen, CauseDelay, CauseDeliver, CauseReset, CauseHeal}},
	KindError:      {},
	KindEnd:        {},
	KindStarved:    {},
	KindAwaited:    {Tenure: true},
	KindNote:       {},
}

// ClientKinds are the kinds of events that a client tells of. All others belong to other accounts.
var ClientKinds = []Kind{KindInvoke, KindOK, KindFail, KindUnknown, KindLost, KindPause, KindResume, KindError, KindNote}

var refusals = []string{"stale", "missing", "invalid", "ahead"}

// checkLine refuses what no line but the first can be.
func (e Event) checkLine() error {
	need, known := Kinds[e.Kind]
	switch {
	case e.Kind == KindRun:
		return errors.New("another run begins here, and a history is of one")
	case !known:
		return fmt.Errorf("its kind is %q, which is unknown", e.Kind)
	case e.Lane == "":
		return errors.New("it names no lane")
	case need.Storage && e.Lane != LaneStorage:
		return fmt.Errorf("its kind is %q, and its lane %q: that is the storage's to tell", e.Kind, e.Lane)
	case need.Tenure && e.Tenure == "":
		return fmt.Errorf("its kind is %q, and it names no tenure", e.Kind)
	case need.Lock && (e.Client == "" || e.Scope == ""):
		return fmt.Errorf("its kind is %q, and it names no client or no lock (scope)", e.Kind)
	case need.Ops != nil && !slices.Contains(need.Ops, e.Op):
		return fmt.Errorf("its kind is %q and its op %q: want one of %s", e.Kind, e.Op, strings.Join(need.Ops, ", "))
	case need.Causes != nil && e.Cause != "" && !slices.Contains(need.Causes, e.Cause):
		return fmt.Errorf("its kind is %q and its cause %q: want one of %s", e.Kind, e.Cause, strings.Join(need.Causes, ", "))
	case need.Reasons != nil && !slices.Contains(need.Reasons, e.Reason):
		return fmt.Errorf("its kind is %q and its reason %q: want one of %s", e.Kind, e.Reason, strings.Join(need.Reasons, ", "))
	case e.Key == "" && (need.Storage || slices.Contains(StorageOps, e.Op) && need.Ops != nil):
		return errors.New("it names no key")
	case e.Op == OpChange && e.Kind == KindInvoke && len(e.Changes) == 0:
		return errors.New("it changes nothing")
	case e.Index < 0 || e.Sequence < 0:
		return errors.New("it has an index or a sequence below 0")
	case e.Run != nil:
		return fmt.Errorf("its kind is %q, and it says what was run", e.Kind)
	}
	return nil
}

// Bounds of what a program says of what happens in a run.
const (
	maxSaid  = 64 << 20    // bytes, in all
	maxAhead = time.Second // by which its clock may be ahead of that of the reader
)

// Said is how much a program has said, and of which time last. The zero value has said nothing.
type Said struct {
	bytes int
	last  time.Duration
}

// Line refuses a line that is too much.
func (s *Said) Line(line []byte) error {
	if s.bytes += len(line); s.bytes > maxSaid {
		return fmt.Errorf("it has said more than %d bytes", maxSaid)
	}
	return nil
}

// Time refuses a time, since 1970, before the last one or before the program began, or yet to come.
func (s *Said) Time(at time.Duration, began time.Time) error {
	last := s.last
	s.last = at
	switch {
	case at < time.Duration(began.UnixNano()):
		return fmt.Errorf("its at is %d, before it was started: want nanoseconds since 1970", at)
	case at > time.Duration(time.Now().Add(maxAhead).UnixNano()):
		return fmt.Errorf("its at is %d, which is yet to come: want nanoseconds since 1970, by this machine's clock", at)
	case at < last:
		return fmt.Errorf("its at is %d, and that of the event before is %d: want one that is not lower", at, last)
	}
	return nil
}
