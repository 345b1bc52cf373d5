package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// longestLine is how many bytes a line of a process may have: many times what a scenario
// can make it say.
const longestLine = 1 << 20

// LineError is that a process said a line which is refused.
type LineError struct {
	Process string
	Line    string // how it begins
	Err     error  // why
}

func (e *LineError) Error() string { return fmt.Sprintf("%s says %q: %v", e.Process, e.Line, e.Err) }

func (e *LineError) Unwrap() error { return e.Err }

// shownLine is how many bytes of a line a LineError shows.
const shownLine = 200

// ReadLines hands over each line that the process says until its end, and returns how it ended.
// A line is gone when the next one is read. A line that is refused, or too long, ends it as
// well: then the error is a LineError.
func (p *Process) ReadLines(in io.Reader, line func([]byte) error) error {
	br := bufio.NewReaderSize(in, longestLine)
	for {
		b, err := br.ReadSlice('\n')
		switch {
		case err == nil:
			err = line(b)
		case errors.Is(err, bufio.ErrBufferFull):
			err = fmt.Errorf("its line is longer than %d bytes", longestLine)
		}
		switch {
		case errors.Is(err, io.EOF):
			// What it began to say without an end was cut off by its death.
			return p.Ended()
		case err != nil:
			return &LineError{p.Name, string(b[:min(len(b), shownLine)]), err}
		}
	}
}
