package storagecmd

import (
	"fmt"
	"io"
	"os"
)

func openJournal(name string, stdout io.Writer) (io.WriteCloser, error) {
	if name == "-" {
		return nopCloser{stdout}, nil
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return f, nil
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
