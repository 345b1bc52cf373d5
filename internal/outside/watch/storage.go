package watch

import (
	"context"
	"net/url"

	"github.com/fencelab/fencelab/internal/outside/gate"
)

// storage is what the program writes to.
type storage struct {
	url     *url.URL
	open    func() (*gate.Gate, error) // opens a gate before it
	account account
}

// account tells what a storage has changed.
type account interface {
	// Changes are what was changed since the last call: a name each, for people. It has all that was answered before.
	Changes(ctx context.Context) ([]string, error)
	Close() error
}

func (w *watch) openStorage() (*storage, error) {
	to := w.To
	if to == nil {
		var more []string
		if w.Unfenced {
			more = []string{"--fencing", "off"}
		}
		if err := w.stage.StartStorage(more...); err != nil {
			return nil, err
		}
		var err error
		if to, err = url.Parse(w.stage.Storage); err != nil {
			return nil, err
		}
	}
	answers := new(gate.Answers)
	return &storage{url: to, account: answers, open: func() (*gate.Gate, error) { return gate.OpenHTTP(to, answers) }}, nil
}
