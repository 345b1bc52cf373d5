package custom

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
)

type word struct {
	At     time.Duration `json:"at"` // since 1970
	Kind   history.Kind  `json:"kind"`
	Scope  string        `json:"scope"`
	Tenure string        `json:"tenure"`
	Token  fence.Token   `json:"token,string"`
	Mode   fence.Mode    `json:"mode"`
	Cause  string        `json:"cause"`
	Text   string        `json:"text"`
}

// account is what a command has said of tenures. It refuses what contradicts itself.
type account struct {
	began time.Time
	said  history.Said
	last  map[string]word // tenure → what was said of it
}

func newAccount(began time.Time) *account {
	return &account{began: began, last: make(map[string]word)}
}

// event is what a line tells, as service.Stage.Tell takes it.
func (a *account) event(line []byte) (e history.Event, err error) {
	if err := a.said.Line(line); err != nil {
		return e, err
	}
	w, err := parse(line)
	if err != nil {
		return e, err
	}
	if err := a.said.Time(w.At, a.began); err != nil {
		return e, err
	}
	e = history.Event{At: w.At, Lane: name, Kind: w.Kind, Scope: w.Scope, Tenure: w.Tenure, Token: w.Token, Mode: w.Mode}
	// The run knows whether the tenure's own client let go of it. If another did, that is
	// as good as a revocation.
	switch w.Cause {
	case history.CauseReleased:
		e.Cause, e.Text = history.CauseRevoked, "released, and not by its own client"
	case history.CauseRevoked:
		e.Cause, e.Text = history.CauseRevoked, w.Text
	}
	return e, a.take(w)
}

// parse reads a line, and refuses one whose fields do not go together.
func parse(line []byte) (w word, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return w, fmt.Errorf("want a JSON line as %s describes: %w", page, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return w, errors.New("want one JSON object in a line")
	}
	switch {
	case w.Kind != history.KindGranted && w.Kind != history.KindEnded:
		return w, fmt.Errorf("its kind is %q, want %q or %q", w.Kind, history.KindGranted, history.KindEnded)
	case w.Scope == "" || w.Tenure == "":
		return w, errors.New("want a scope, which is the lock's name, and a tenure")
	case w.Token < 0:
		return w, fmt.Errorf("its token is %d, want a number from 1, or none", w.Token)
	case w.Kind == history.KindGranted && (w.Cause != "" || w.Text != ""):
		return w, errors.New("a grant has no cause and no text")
	case w.Kind == history.KindEnded && (w.Token != 0 || w.Mode != fence.Exclusive):
		return w, errors.New("an end has no token and no mode: those are the grant's")
	case w.Kind == history.KindGranted:
		return w, nil
	}
	switch w.Cause {
	case history.CauseReleased, history.CauseExpired, history.CauseRevoked:
		return w, nil
	}
	return w, fmt.Errorf("its cause is %q, want %q, %q or %q", w.Cause, history.CauseReleased, history.CauseExpired, history.CauseRevoked)
}

func (a *account) take(w word) error {
	before, known := a.last[w.Tenure]
	switch {
	case w.Kind == history.KindGranted && known:
		return fmt.Errorf("the tenure %q is granted a second time: want a name that is new for each grant, also after a restart", w.Tenure)
	case w.Kind == history.KindEnded && !known:
		return fmt.Errorf("the tenure %q ends, and was not granted", w.Tenure)
	case known && before.Scope != w.Scope:
		return fmt.Errorf("the tenure %q ends for %s, and was granted for %s", w.Tenure, w.Scope, before.Scope)
	case known && before.Kind == history.KindEnded:
		return fmt.Errorf("the tenure %q ends a second time", w.Tenure)
	}
	a.last[w.Tenure] = w
	return nil
}
