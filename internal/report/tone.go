package report

import "github.com/fencelab/fencelab/internal/history"

// Tone is what a word means for the reader; pictures choose its colour by it.
type Tone string

// The tones.
const (
	Plain Tone = ""
	Good  Tone = "good"
	Bad   Tone = "bad"
	Warn  Tone = "warn"
)

// tone is that of the verdict itself, whether or not it was expected.
func (o Outcome) tone() Tone {
	switch o.Name {
	case history.Safe:
		return Good
	case history.Corrupted:
		return Bad
	case history.Blocked:
		return Warn
	}
	return Plain
}

// asExpected is the tone of the expectation.
func (o Outcome) asExpected() Tone {
	if o.OK {
		return Good
	}
	return Bad
}

// headline is a verdict and whether it was expected, each in a tone of its own:
// a control is as it should be where it fails.
func headline(run history.Run, o Outcome, name string) Text {
	if o.Trouble != "" {
		return strong("not judged")
	}
	return append(strong("%s,", name).in(o.tone()), strong("%s", expectation(run, o)).in(o.asExpected())...)
}

// in returns t in a tone.
func (t Text) in(tone Tone) Text {
	for i := range t {
		t[i].Tone = tone
	}
	return t
}
