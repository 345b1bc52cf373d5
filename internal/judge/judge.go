// Package judge gives the whole judgement of a run: the verdict of package verdict, and a second opinion on the
// storage: porcupine's, by the rules of package linear, from other accounts: what the clients asked and were
// answered, and when.
package judge

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/linear"
	"github.com/fencelab/fencelab/internal/judge/verdict"
)

type Judgement struct {
	verdict.Verdict
	Storage Opinion  `json:"storage"`
	Clients *Account `json:"clients,omitempty"` // the lock service by its clients' accounts, where its own is missing
}

// Opinion is porcupine's, on the storage.
type Opinion struct {
	Fenced     string `json:"fenced"`           // Yes, No or Undecided
	Operations int    `json:"operations"`       // that it is made of
	Reason     string `json:"reason,omitempty"` // why it is undecided
}

// Whether the storage is fenced: whether one order of all operations obeys the laws of a fenced store.
const (
	Yes       = "yes"
	No        = "no"
	Undecided = "undecided"
)

const within = 5 * time.Second

// Judge judges a history. The error is a *history.InvalidError where that cannot be judged.
func Judge(events []history.Event) (Judgement, error) {
	if problems := history.Check(events); problems != nil {
		return Judgement{}, &history.InvalidError{Problems: problems}
	}
	return judge(events, within), nil
}

func judge(events []history.Event, within time.Duration) Judgement {
	j := Judgement{Verdict: verdict.Judge(events), Storage: opinion(events, within)}
	if want := events[0].Run.Expect.Fenced; want != nil {
		j.compare(*want)
	}
	return j
}

func opinion(events []history.Event, within time.Duration) Opinion {
	ops, err := operations(events)
	if err != nil {
		return Opinion{Fenced: Undecided, Operations: len(ops), Reason: err.Error()}
	}
	o := Opinion{Operations: len(ops)}
	switch linear.Check(ops, within) {
	case linear.Linearizable:
		o.Fenced = Yes
	case linear.NotLinearizable:
		o.Fenced = No
	default:
		o.Fenced, o.Reason = Undecided, fmt.Sprintf("there was no result within %v", within)
	}
	return o
}

// notFenced is the mismatch of a storage that breaks its law.
const notFenced = "by porcupine the storage broke the rule of a fence, expected that it keeps it"

func (j *Judgement) compare(fenced bool) {
	expected := map[bool]string{true: "that it keeps it", false: "that it breaks it"}[fenced]
	switch {
	case j.Storage.Fenced == Undecided:
		j.Mismatches = append(j.Mismatches,
			fmt.Sprintf("porcupine could not judge whether the storage kept the rule of a fence (%s), expected %s", j.Storage.Reason, expected))
	case j.Storage.Fenced == No && fenced:
		j.Mismatches = append(j.Mismatches, notFenced)
	case j.Storage.Fenced == Yes && !fenced:
		j.Mismatches = append(j.Mismatches, "by porcupine the storage kept the rule of a fence, expected "+expected)
	}
}

// Open reports whether the run is undecided. A storage that broke its law is certain, and not open.
func (j Judgement) Open() bool {
	broke := slices.ContainsFunc(j.Mismatches, func(m string) bool { return m == notFenced })
	return j.Name == history.Undecided && !broke
}

// Visualize writes porcupine's page on the storage's history, with the run's faults. It checks once more, and
// so takes as long as Judge; an error says why there is nothing to check.
func Visualize(w io.Writer, events []history.Event) error {
	ops, err := operations(events)
	if err != nil {
		return fmt.Errorf("no picture of the storage's history: %w", err)
	}
	return linear.Draw(w, ops, faults(events), within)
}
