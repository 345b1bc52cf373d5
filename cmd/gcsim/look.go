package main

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/report/terminal"
)

// look says what runs are to look like as text.
type look struct {
	ascii bool
	width int
}

func (l *look) flags(f *pflag.FlagSet) {
	f.BoolVar(&l.ascii, "ascii", false, "draw with ASCII only (default: where the locale has no UTF-8)")
	f.IntVar(&l.width, "width", 0, "columns of a line (default: those of the terminal, or what COLUMNS says)")
}

// on is how to draw on w.
func (l look) on(w io.Writer) (terminal.Options, error) {
	o := terminal.Detect(w, os.Environ())
	switch {
	case l.width != 0 && (l.width < terminal.MinWidth || l.width > terminal.MaxWidth):
		return o, fmt.Errorf("want --width from %d to %d, got %d", terminal.MinWidth, terminal.MaxWidth, l.width)
	case l.width != 0:
		o.Width = l.width
	}
	o.ASCII = o.ASCII || l.ascii
	return o, nil
}
