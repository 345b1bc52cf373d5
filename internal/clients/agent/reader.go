package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Reader takes in what a client says, line by line, and refuses what no client says: a client
// need not be an agent of this package. The zero value refuses everything.
type Reader struct {
	Client string    // which speaks for itself alone
	Began  time.Time // when the client was started: it speaks of no earlier time

	greeted bool
	said    history.Said
}

// Event is the event in a line. Its At is the time since 1970.
func (r *Reader) Event(line []byte) (e history.Event, err error) {
	if err := r.said.Line(line); err != nil {
		return e, err
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return e, err
	}
	switch {
	case e.Lane != r.Client:
		return e, fmt.Errorf("its lane is %q, want %q: a client tells of itself alone", e.Lane, r.Client)
	case !slices.Contains(history.ClientKinds, e.Kind):
		return e, fmt.Errorf("its kind is %q: a client tells of %v", e.Kind, history.ClientKinds)
	case e.Client != r.Client:
		return e, fmt.Errorf("its client is %q, want %q: a client tells of itself alone", e.Client, r.Client)
	}
	if err := r.said.Time(e.At, r.Began); err != nil {
		return e, err
	}
	if !r.greeted {
		r.greeted = true
		return e, greeting(e)
	}
	return e, nil
}

// greeting refuses a first event that does not say the protocol's version.
func greeting(e history.Event) error {
	switch {
	case e.Kind != history.KindNote || e.Key != "protocol":
		return errors.New(`its first event is not that by which a client says that it is ready: want the kind "note" and the key "protocol"`)
	case e.Value != Protocol:
		return fmt.Errorf("its version of the protocol is %q, and this gcsim speaks %q", e.Value, Protocol)
	}
	return nil
}

// Args are what a client is told at its start.
type Args struct {
	Name           string // of the client
	Service        string
	Endpoints      []string
	Lock           string // that it takes where a command names none
	Storage        string // URL; "": the data lies in the lock service
	SendStorage    string // URL for what it sends and does not wait for
	ConnectTimeout time.Duration
	AskedBefore    int
	Words          bool
	Known          []setting.Setting // in the order in which it is told them
	Settings       setting.Values    // their values
}

// List is the arguments, as docs/agent.md has them.
func (a Args) List() []string {
	list := []string{
		"--name", a.Name, "--service", a.Service, "--endpoints", strings.Join(a.Endpoints, ","), "--lock", a.Lock,
		"--connect-timeout", a.ConnectTimeout.String(), "--asked-before", strconv.Itoa(a.AskedBefore),
	}
	if a.Storage == "" {
		list = append(list, "--in-service")
	} else {
		list = append(list, "--storage", a.Storage, "--send-storage", a.SendStorage)
	}
	if a.Words {
		list = append(list, "--words")
	}
	for _, s := range a.Known {
		list = append(list, "--"+s.Name+"="+a.Settings.Text(s.Name))
	}
	return list
}
