package storagecmd

import (
	"fmt"
	"io"
	"os"

	"github.com/fencelab/fencelab/internal/storage/kv"
)

// journal is the storage's account, and where it goes.
type journal struct {
	*kv.Journal
	io.Closer
}

// openJournal opens the journal that is asked for; nil where none is.
func (c *config) openJournal(stdout io.Writer) (*journal, error) {
	switch c.journal {
	case "":
		return nil, nil
	case "-":
		return &journal{kv.NewJournal(stdout), io.NopCloser(nil)}, nil
	}
	f, err := os.OpenFile(c.journal, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &journal{kv.NewJournal(f), f}, nil
}
