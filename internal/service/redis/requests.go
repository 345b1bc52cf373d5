package redis

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// plain is a recipe of requests whose lock is a key that says its owner. So the client's settings
// choose how it renews its lease, and how it releases the lock.
type plain struct {
	traits
	take    taking
	listens bool // who waits asks again when it is told of an unlock, and only then
}

// scripted is a recipe of requests whose keys only its own scripts know. Nothing renews its lease.
type scripted struct {
	traits
	take   taking
	unlock *redis.Script
}

// taking makes one attempt, and reports whether the lock is the client's. An error leaves that open.
type taking func(ctx context.Context, a *attempt) (taken bool, err error)

func (*plain) rules() []rule { return []rule{ofOneNode} }

func (*scripted) rules() []rule { return []rule{ofOneNode, asItIs} }

func (r *plain) dial(*client) (asker, error) { return r, nil }

func (r *scripted) dial(*client) (asker, error) { return r, nil }

func (r *plain) try(ctx context.Context, w *asking) (service.Tenure, error) {
	return w.attempt(ctx, &r.traits, r.take, r.free)
}

func (r *scripted) try(ctx context.Context, w *asking) (service.Tenure, error) {
	return w.attempt(ctx, &r.traits, r.take, func(ctx context.Context, node *redis.Client, t *tenure) (bool, error) {
		return r.unlock.Run(ctx, node, []string{t.grant.Scope}, t.grant.Owner).Bool()
	})
}

// free does what the client's setting says: where that is no comparison, whosever the lock is by then.
func (r *plain) free(ctx context.Context, node *redis.Client, t *tenure) (mine bool, err error) {
	if t.of.settings.Text(setting.Unlock) == unlockDel {
		mine, err = true, node.Del(ctx, t.grant.Scope).Err()
	} else {
		mine, err = unlockScript.Run(ctx, node, []string{t.grant.Scope}, t.grant.Owner).Bool()
	}
	if mine && err == nil && r.listens {
		err = node.Publish(ctx, channelOf(t.grant.Scope), "").Err()
	}
	return mine, err
}

//go:embed *.lua
var scripts embed.FS

func script(name string) *redis.Script {
	source, err := scripts.ReadFile(name + ".lua")
	if err != nil {
		panic(err)
	}
	return redis.NewScript(string(source))
}

type attempt struct {
	redis *redis.Conn     // of the first node
	nodes []*redis.Client // all
	asked time.Time       // when the lease begins, by the client's clock
	lock  string
	owner string
	ttl   time.Duration
	token fence.Token // that was given
	stood bool
}

// stand is to be called when the lock is taken by the first of several requests, before
// the others. Where a recipe has not called it, it is called when the lock is taken.
func (a *attempt) stand(ctx context.Context) {
	if !a.stood {
		a.stood = true
		service.Stand(ctx, a.owner)
	}
}

// run runs a script that takes the lock for a TTL by some keys.
func (a *attempt) run(ctx context.Context, script *redis.Script, keys ...string) *redis.Cmd {
	return script.Run(ctx, a.redis, keys, a.owner, a.ttl.Milliseconds())
}

// number is the answer of a script that gives a token, or nothing where the lock is not free.
func (a *attempt) number(answer *redis.Cmd) (taken bool, err error) {
	n, err := answer.Uint64()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	a.token = fence.Token(n)
	return err == nil, err
}

// channelOf is where the unlock of a lock is told.
func channelOf(lock string) string { return "fencelab_free:{" + lock + "}" }

func (w *asking) attempt(ctx context.Context, by *traits, take taking, free freeing) (service.Tenure, error) {
	if ctx.Err() != nil {
		return nil, fence.Definite.Wrap(ctx.Err())
	}
	conn := w.nodes[0].Conn() // one connection: WAIT is about what it wrote
	defer conn.Close()
	a := &attempt{redis: conn, nodes: w.nodes, asked: time.Now(), lock: w.scope, owner: w.owner, ttl: w.settings.Time(setting.TTL)}
	taken, err := take(ctx, a)
	if err == nil && taken {
		a.stand(ctx)
		err = w.replicated(ctx, a)
	}
	switch {
	case errors.Is(err, errNotReplicated):
		return nil, err
	case err != nil:
		return nil, &lock.UnknownError{Op: w.op, Scope: w.scope, Err: err}
	case !taken:
		return nil, by.refusal()
	}
	t := &tenure{
		of: w.client, grant: lock.Grant{Scope: w.scope, Owner: w.owner, Token: a.token, Mode: by.mode},
		free: free, until: a.asked.Add(a.ttl), Life: service.NewLife(),
	}
	go t.keep()
	return w.held(t), nil
}

// retry is how often a client that waits asks again.
const retry = 100 * time.Millisecond

func (r *scripted) wait(ctx context.Context, w *asking) (service.Tenure, error) {
	return w.poll(ctx, r, nil)
}

// wait hears of unlocks from its beginning on, where the recipe listens.
func (r *plain) wait(ctx context.Context, w *asking) (service.Tenure, error) {
	if !r.listens {
		return w.poll(ctx, r, nil)
	}
	sub := w.nodes[0].Subscribe(ctx, channelOf(w.scope))
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil { // Redis has confirmed it
		return nil, fence.Definite.Wrap(err)
	}
	return w.poll(ctx, r, sub.Channel())
}

// poll asks by a recipe until the lock is the client's, or ctx is done: again after each of the
// news, or every so often where news is nil.
func (w *asking) poll(ctx context.Context, by asker, news <-chan *redis.Message) (service.Tenure, error) {
	for ctx.Err() == nil {
		late, stop := service.Patient(ctx, func() {}) // the try may be the last one
		t, err := by.try(late, w)
		stop()
		if !errors.Is(err, lock.ErrLocked) {
			return t, err
		}
		tellOwner(ctx, w.owner)
		var pause <-chan time.Time
		if news == nil {
			pause = time.After(retry)
		}
		select {
		case <-news:
		case <-pause:
		case <-ctx.Done():
		}
	}
	return nil, fence.Definite.Wrap(ctx.Err())
}

// waitFor is for how long a client waits until replicas have its lock, as in Redisson.
const waitFor = time.Second

// errNotReplicated is why a client has given a lock back that it had taken.
var errNotReplicated = fence.Definite.New("too few replicas have the lock, and it is given back")

// replicated returns when so many replicas have the lock as the client wants. Where they do
// not have it in time it gives the lock back.
func (w *asking) replicated(ctx context.Context, a *attempt) error {
	want := w.settings.Number(settingWait)
	if want == 0 {
		return nil
	}
	have, err := a.redis.Wait(ctx, want, waitFor).Result()
	if err != nil || int(have) >= want {
		return err
	}
	if err := unlockScript.Run(ctx, a.redis, []string{a.lock}, a.owner).Err(); err != nil {
		return err
	}
	return fmt.Errorf("%w: want %d within %v, and %d have it", errNotReplicated, want, waitFor, have)
}
