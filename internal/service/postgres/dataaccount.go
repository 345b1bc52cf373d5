package postgres

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// resourceTable has the data, in the row of each lock.
const resourceTable = "resource"

// resourceTime is how the log has a time.
const resourceTime = "2006-01-02 15:04:05.999999-07"

// dataAccount is the account of the data, in the order of the commits: of what changed in
// the row of a lock by the row itself, of what changed nothing by messages. It is that of
// the tenures of those who have read the row, too.
type dataAccount struct {
	stage   service.Stage
	readers []*reader
	index   int64     // of the last request
	last    time.Time // that was told
}

// reader is a tenure that goes on as long as the row is as its client has read it, or made
// it.
type reader struct {
	lock, owner string
	recipe      *recipe
	seen        sqlservice.Seen
}

// dataTold is what messages tell: of a tenure's begin or end, or of a request.
type dataTold struct {
	At    time.Time `json:"at"`
	Lock  string    `json:"lock"`
	Owner string    `json:"owner"`
	By    string    `json:"by"`
	sqlservice.Seen

	Events []history.Event `json:"events"`
	Value  *string         `json:"value"`
}

// What messages tell: that a client has read the row, which begins its tenure; that it lets
// go of that; what a request has found; and that it was refused.
const (
	messageReads   = "fencelab-reads"
	messageEnds    = "fencelab-ends"
	messageFound   = "fencelab-found"
	messageRefused = "fencelab-refused"
)

var dataMessageLine = regexp.MustCompile(`(?s)^message: transactional: 1 prefix: (fencelab-\w+), sz: \d+ content:(\{.*)$`)

// dataMessage reads a line of the log that is a message of one of the statements here.
func dataMessage(line string) (kind, content string, is bool) {
	found := dataMessageLine.FindStringSubmatch(line)
	if found == nil {
		return "", "", false
	}
	return found[1], found[2], true
}

// message takes in what a message tells.
func (a *dataAccount) message(kind, content string, behind time.Duration) error {
	var m dataTold
	if err := json.Unmarshal([]byte(content), &m); err != nil {
		return err
	}
	at := a.time(m.At.Add(-behind))
	switch kind {
	case messageReads:
		a.begins(at, m)
	case messageEnds:
		a.endAll(at, "", func(r *reader) bool { return r.owner == m.Owner })
	case messageFound:
		e := m.Events[0]
		e.Missing = m.Value == nil
		if m.Value != nil {
			e.Value = *m.Value
		}
		a.request(at, history.KindApplied, e)
	case messageRefused:
		for i := range m.Events {
			m.Events[i].Reason = string(fencehttp.ReasonStale)
			if m.Events[i].Token != 0 {
				m.Events[i].Mark = m.Version
			}
		}
		a.request(at, history.KindRefused, m.Events...)
	}
	return nil
}

// time is when something happened: not before what was told before it, as commits have an
// order that their clocks may lack; and not in the future, by the clock of this machine.
func (a *dataAccount) time(at time.Time) time.Time {
	if now := time.Now(); at.After(now) {
		at = now
	}
	if at.After(a.last) {
		a.last = at
	}
	return a.last
}

func (a *dataAccount) begins(at time.Time, m dataTold) {
	i := slices.IndexFunc(recipes, func(r *recipe) bool { return r.ID == m.By })
	r := &reader{m.Lock, m.Owner, recipes[i], m.Seen}
	a.readers = append(a.readers, r)
	e := history.Event{Kind: history.KindGranted, Scope: r.lock, Tenure: r.owner, Mode: fence.Shared}
	if r.recipe.Shows != noToken {
		e.Token = r.seen.Version
	}
	a.tellOf(at, e)
}

// endAll ends the tenures of which over is true.
func (a *dataAccount) endAll(at time.Time, why string, over func(*reader) bool) {
	a.readers = slices.DeleteFunc(a.readers, func(r *reader) bool {
		if !over(r) {
			return false
		}
		a.tellOf(at, history.Event{Kind: history.KindEnded, Scope: r.lock, Tenure: r.owner, Cause: history.CauseRevoked, Text: why})
		return true
	})
}

// change takes in that the row of a lock has changed.
func (a *dataAccount) change(c change, behind time.Duration) error {
	if c.columns["request"] == "" {
		return nil // it was made
	}
	var now sqlservice.Seen
	var data map[string]string
	var events []history.Event
	at, err := time.Parse(resourceTime, c.columns["at"])
	if err == nil {
		_, err = fmt.Sscan(c.columns["version"], &now.Version)
	}
	if err == nil {
		err = json.Unmarshal([]byte(c.columns["data"]), &data)
	}
	if err == nil {
		err = json.Unmarshal([]byte(c.columns["request"]), &events)
	}
	if err != nil {
		return err
	}
	if status, has := data["status"]; has {
		now.Status = &status
	}
	at = a.time(at.Add(-behind))
	for i, e := range events {
		value, has := data[e.Key]
		events[i].Value, events[i].Missing = value, !has && e.Op != history.OpDelete
	}
	a.request(at, history.KindApplied, events...)
	a.outrun(at, c.columns["name"], c.columns["tenure"], now)
	return nil
}

// outrun ends the tenures of a row that is not any more as their clients have read it. The
// one that has changed it knows.
func (a *dataAccount) outrun(at time.Time, lock, by string, now sqlservice.Seen) {
	a.endAll(at, "the row is not as it was read", func(r *reader) bool {
		switch {
		case r.lock != lock:
			return false
		case r.owner == by:
			r.seen = now
			return false
		}
		return !r.recipe.Same(r.seen, now)
	})
}

// tellOf tells of a tenure.
func (a *dataAccount) tellOf(at time.Time, e history.Event) {
	e.At, e.Lane = time.Duration(at.UnixNano()), Name
	a.stage.Tell(e)
}

// request tells what became of a request: an event for each of its keys.
func (a *dataAccount) request(at time.Time, kind history.Kind, events ...history.Event) {
	for _, e := range events {
		a.index++
		e.Kind, e.Index, e.At = kind, a.index, time.Duration(at.UnixNano())
		a.stage.Tell(e)
	}
}
