package zookeeper

import (
	"context"
	"fmt"

	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

const Name = "zookeeper"

func Dial(o service.Options) (service.Client, error) {
	by := service.RecipeOf(recipes, o.Settings)
	if by.peer != "" {
		return nil, service.ErrInJava(by.name)
	}
	l, err := connect(o.Endpoints, o.Settings.Time(setting.TTL))
	if err != nil {
		return nil, fmt.Errorf("endpoints: %w", err)
	}
	c := &client{l, o.Settings, by}
	if !c.recipe.own {
		return c, nil
	}
	return newOwnClient(c, o.Endpoints)
}

// client takes its locks by a recipe. All its nodes are of one session.
type client struct {
	*link
	settings setting.Values
	recipe   *recipe
}

func (c *client) Reach(ctx context.Context) error {
	_, err := c.children(ctx, "/")
	return err
}

// Close ends the session, and with it all nodes that are left.
func (c *client) Close(context.Context) error {
	c.link.end()
	return nil
}

func (c *client) Lock(ctx context.Context, scope, in string) (service.Tenure, error) {
	w, err := c.queue(ctx, "lock", scope, in)
	if err != nil {
		return nil, err
	}
	return w.granted(ctx, w.wait(ctx))
}

// TryLock takes a place in the queue, and leaves it where that is not the first.
func (c *client) TryLock(ctx context.Context, scope, in string) (service.Tenure, error) {
	w, err := c.queue(ctx, "trylock", scope, in)
	if err != nil {
		return nil, err
	}
	return w.granted(ctx, w.first(ctx))
}

func (c *client) Enqueue(ctx context.Context, scope string) (service.Place, error) {
	w, err := c.queue(ctx, "lock", scope, "")
	if err != nil {
		return nil, err
	}
	t := newTenure(w)
	stands := make(chan struct{})
	close(stands) // it has its place
	return service.EnqueueAs(ctx, t, stands, func(ctx context.Context) error {
		err := w.over(ctx, w.wait(ctx))
		if err == nil {
			t.begin()
		}
		return err
	})
}
