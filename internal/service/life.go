package service

import "sync"

// Life is the part of a Tenure that ends once: its Done and its Err, as lock.Tenure says.
type Life struct {
	done chan struct{}

	mu  sync.Mutex
	err error // why done is closed
}

// NewLife begins a life.
func NewLife() *Life { return &Life{done: make(chan struct{})} }

// Done implements lock.Tenure, as Err does.
func (l *Life) Done() <-chan struct{} { return l.done }

func (l *Life) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// End ends the life because of why, nil after an unlock. It reports whether the life had not
// ended before.
func (l *Life) End(why error) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.done:
		return false
	default:
	}
	l.err = why
	close(l.done)
	return true
}
