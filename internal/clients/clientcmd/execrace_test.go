package clientcmd_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/clientcmd"
	"github.com/fencelab/fencelab/internal/clients/clientcmd/clienttest"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/service/all"
)

// slowContext is one whose third Err waits. The first two are the context
// package's, which asks for the cause; the third is who it calls then.
type slowContext struct {
	context.Context // ends never
	mu              sync.Mutex
	after           map[*func()]bool
	over            bool
	asked           int
	reached, goOn   chan struct{}
}

func (c *slowContext) Done() <-chan struct{} { return make(chan struct{}) }

func (c *slowContext) Err() error {
	c.mu.Lock()
	if !c.over {
		c.mu.Unlock()
		return nil
	}
	c.asked++
	asked := c.asked
	c.mu.Unlock()
	if asked == 3 {
		close(c.reached)
		<-c.goOn
	}
	return context.Canceled
}

// AfterFunc is what the context package calls in place of waiting for Done.
func (c *slowContext) AfterFunc(f func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.after[&f] = true
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		defer delete(c.after, &f)
		return c.after[&f]
	}
}

func (c *slowContext) cancel() {
	c.mu.Lock()
	c.over = true
	after := c.after
	c.after = nil
	c.mu.Unlock()
	for f := range after {
		(*f)()
	}
}

// TestExecGivesUpAsItIsGranted: the command's context ends, and before that
// reaches the waiting the lock is granted.
func TestExecGivesUpAsItIsGranted(t *testing.T) {
	t.Parallel()
	w := clienttest.New(t)
	holder := w.Take(t, "/x")
	ctx := &slowContext{Context: context.Background(), after: map[*func()]bool{}, reached: make(chan struct{}), goOn: make(chan struct{})}
	cmd := clientcmd.Command(all.List)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(w.Args("exec", "--lock", "/x", "--", "true"))
	ended := make(chan error)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	w.Queue(t, "/x", 2)
	ctx.cancel()
	select {
	case <-ctx.reached:
	case <-time.After(clienttest.Patience):
		t.Fatal("nobody asks why the context ended")
	}
	defer close(ctx.goOn)
	if err := holder.Unlock(clienttest.Within(t)); err != nil {
		t.Fatal(err)
	}
	err := <-ended
	if exit := new(cli.ExitError); !errors.As(err, &exit) || exit.Code != 125 || !errors.Is(err, context.Canceled) {
		t.Errorf("it returns %#v, want status 125 and why", err)
	}
	w.WantFree(t, "/x")
}
