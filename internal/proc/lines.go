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

// ReadLines hands over each line that the process says until its end, and returns how it ended.
// A line is gone when the next one is read. A line that is refused, or too long, ends it as
// well: then the error shows how the line begins.
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
			return fmt.Errorf("%s says %.200q: %w", p.Name, b, err)
		}
	}
}
