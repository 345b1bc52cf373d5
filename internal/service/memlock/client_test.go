package memlock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// errGone: the server does not know the place, or knows it no more.
var errGone = errors.New("memlock: there is no such place")

// caller speaks to a server.
type caller struct {
	base string
	http *http.Client
}

func newCaller(endpoint string) *caller {
	return &caller{"http://" + endpoint, &http.Client{Transport: new(http.Transport)}}
}

// open sends a request, and returns the answer where that is a success.
func (c *caller) open(ctx context.Context, method, path string, form url.Values) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path+"?"+form.Encode(), nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusGone:
		return nil, errGone
	case http.StatusConflict:
		return nil, lock.ErrLocked
	}
	return nil, fmt.Errorf("memlock: %s %s: %s", method, path, resp.Status)
}

// call sends a request, and reads the answer into p, unless that is nil.
func (c *caller) call(ctx context.Context, method, path string, form url.Values, p *service.Standing) error {
	resp, err := c.open(ctx, method, path, form)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if p == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(p)
}

// Reach implements service.Client, as Close does.
func (c *caller) Reach(ctx context.Context) error {
	return c.call(ctx, http.MethodGet, "/count", nil, nil)
}

func (c *caller) Close(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

type client struct {
	*caller
	settings setting.Values
}

// Lock implements service.Client.
func (c *client) Lock(ctx context.Context, scope, in string) (service.Tenure, error) {
	t, err := c.enter(ctx, "lock", scope, in)
	if err != nil {
		return nil, err
	}
	if err := t.wait(ctx); err != nil {
		return nil, err
	}
	service.Stand(ctx, t.Name())
	return t, nil
}

// TryLock implements service.Client.
func (c *client) TryLock(ctx context.Context, scope, in string) (service.Tenure, error) {
	t, err := c.enter(ctx, "trylock", scope, in)
	if err != nil {
		return nil, err // and no *tenure in the interface
	}
	return t, nil
}

// enter takes a place in a queue.
func (c *client) enter(ctx context.Context, op, scope, in string) (*tenure, error) {
	if in != "" {
		return nil, service.NotIn(name, in)
	}
	if ctx.Err() != nil {
		return nil, fence.Definite.Wrap(ctx.Err())
	}
	form := url.Values{"scope": {scope}, "ttl": {c.settings.Text(setting.TTL)}}
	if op == "trylock" {
		form.Set("try", "yes")
	}
	asked := time.Now()
	var p service.Standing
	switch err := c.call(ctx, http.MethodPost, "/places", form, &p); {
	case errors.Is(err, lock.ErrLocked):
		return nil, err
	case err != nil:
		return nil, &lock.UnknownError{Op: op, Scope: scope, Err: err}
	}
	t := &tenure{of: c, grant: lock.Grant{Scope: scope, Owner: p.Tenure, Token: p.Token}, Life: service.NewLife()}
	go t.keep(asked)
	return t, nil
}

// Enqueue implements service.Client.
func (c *client) Enqueue(ctx context.Context, scope string) (service.Place, error) {
	t, err := c.enter(ctx, "lock", scope, "")
	if err != nil {
		return nil, err
	}
	stands := make(chan struct{})
	close(stands) // it has its place
	queue, err := service.Enqueue(ctx, stands, t.wait)
	if err != nil {
		return nil, err
	}
	return &queued{t, queue}, nil
}

type queued struct {
	*tenure
	*service.Queue
}

// tenure is one of a client, or a place in the queue that will be one.
type tenure struct {
	*service.Life

	of    *client
	grant lock.Grant
}

// call asks the server for something about its place.
func (t *tenure) call(ctx context.Context, method string) error {
	return t.of.call(ctx, method, "/places/"+t.grant.Owner, nil, nil)
}

// wait waits until the lock is granted. With an error it has left the queue, or says
// that this is not known.
func (t *tenure) wait(ctx context.Context) error {
	err := t.call(ctx, http.MethodGet)
	if err == nil {
		return nil
	}
	if errors.Is(err, errGone) {
		t.End(lock.ErrLost)
		return service.ErrRanOut
	}
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.of.settings.Time(setting.Timeout))
	defer cancel()
	if left := t.Unlock(leaving); left != nil && !errors.Is(left, lock.ErrLost) {
		return &lock.UnknownError{Op: "lock", Scope: t.grant.Scope, Err: errors.Join(err, left)}
	}
	return fence.Definite.Wrap(err)
}

// keep renews the lease until the tenure is over. renewed is when the lease began, at
// the latest.
func (t *tenure) keep(renewed time.Time) {
	ttl := t.of.settings.Time(setting.TTL)
	for {
		select {
		case <-time.After(ttl / 3):
		case <-t.Done():
			return
		}
		asked := time.Now()
		ctx, cancel := context.WithDeadline(context.Background(), renewed.Add(ttl))
		err := t.call(ctx, http.MethodPut)
		cancel()
		switch {
		case err == nil:
			renewed = asked
		case errors.Is(err, errGone):
			t.End(lock.ErrLost)
		case time.Since(renewed) >= ttl:
			t.End(lock.ErrCutOff)
		}
	}
}

// Grant implements lock.Tenure, as Unlock does.
func (t *tenure) Grant() lock.Grant { return t.grant }

func (t *tenure) Unlock(ctx context.Context) error {
	t.End(nil)
	switch err := t.call(ctx, http.MethodDelete); {
	case errors.Is(err, errGone):
		return lock.ErrLost
	case err != nil:
		return &lock.UnknownError{Op: "unlock", Scope: t.grant.Scope, Err: err}
	}
	return nil
}

// Name implements service.Tenure, as the methods after it do.
func (t *tenure) Name() string { return t.grant.Owner }

func (t *tenure) Session() string { return t.grant.Owner }

func (t *tenure) Shown() (token fence.Token, remark string) {
	if t.of.settings.Text(setting.Token) == tokenNone {
		return 0, ""
	}
	return t.grant.Token, ""
}

func (t *tenure) Look(_ context.Context, how string) (said string, err error) {
	return "", fmt.Errorf("memlock: there is no way %q to look whether a lock is held", how)
}
