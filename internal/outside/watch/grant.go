package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/lock"
)

// asker is before the lock service. Whatever that answers the program, asker asks for the lock itself before the program
// hears it. If somebody has the lock, that is the program, which does not know yet: it is stopped.
type asker struct {
	*watch
	client service.Client
	found  chan error // gets nil when the program is stopped

	mu      sync.Mutex
	program *runner
	tenure  history.Event // that it has
	done    bool
}

// startToGrant starts the program, and stops it before it hears that it has the lock.
func (w *watch) startToGrant(ctx context.Context, settings setting.Values) (*runner, history.Event) {
	if w.Service.Dial == nil {
		fail.If(fmt.Errorf("gcsim cannot ask for the lock, so --at grant is not possible: %w", w.Service.NoClient))
	}
	a := &asker{watch: w, found: make(chan error, 1)}
	a.client = fail.Must(w.Service.Dial(service.Options{Endpoints: w.Endpoints, Settings: settings}))
	defer a.client.Close(context.WithoutCancel(ctx))
	var doors []string
	for _, to := range w.Endpoints {
		if !service.IsAddress(to) {
			fail.If(fmt.Errorf("%s is no server, so nothing says when the lock is granted: want --at %s", w.Service.Name, AtWrite))
		}
		door := fail.Must(network.Listen(func(client net.Conn) { go a.connect(ctx, client, to) }))
		context.AfterFunc(ctx, door.Close)
		doors = append(doors, door.Addr())
	}
	a.mu.Lock() // nothing is answered before it is known who asks
	a.program = w.start(doors)
	a.mu.Unlock()
	for patience := time.After(w.Patience); ; {
		select {
		case q := <-a.program.gate.Requests:
			q.Pass() // before it knows that it has the lock
		case err := <-a.found:
			fail.If(err)
			return a.program, a.tenure
		case <-a.program.Done():
			fail.If(errors.Join(fmt.Errorf("it ended before it had the lock %s: %w", w.Lock, a.program.Ended()), a.program.end()))
		case <-patience:
			fail.If(errors.Join(fmt.Errorf("nobody is granted %s for %v", w.Lock, w.Patience), a.program.end()))
		case <-ctx.Done():
			fail.If(context.Cause(ctx))
		}
	}
}

// connect connects the program with the lock service, until that hangs up.
func (a *asker) connect(ctx context.Context, client net.Conn, to string) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.(*net.TCPConn).CloseWrite() // it still does what was sent before
	}()
	answer := make([]byte, 32<<10)
	for {
		n, err := server.Read(answer)
		if err != nil {
			return
		}
		a.ask(ctx)
		if _, err := client.Write(answer[:n]); err != nil {
			return
		}
	}
}

// ask asks for the lock, and stops the program if that has it.
func (a *asker) ask(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done {
		return
	}
	t, err := a.client.TryLock(ctx, a.Lock, "")
	if err == nil {
		a.own = append(a.own, t.Grant().Owner)
		if err = t.Unlock(ctx); err == nil {
			return // nobody had it
		}
	} else if errors.Is(err, lock.ErrLocked) {
		if err = a.program.Pause(); err == nil {
			a.tenure, err = a.granted(ctx, a.program, a.Patience)
		}
	}
	a.done = true
	a.found <- err
}
