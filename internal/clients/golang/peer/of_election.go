package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"
)

// elections are held by etcd's package concurrency. Each tenure has a session, which has the TTL in whole seconds.
type elections struct {
	client *clientv3.Client
	ttl    int
}

func openElection(s settings) (locks, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: s.endpoints, DialTimeout: s.timeout, Logger: zap.NewNop()})
	return &elections{client, int((s.ttl + time.Second - 1) / time.Second)}, err
}

func (e *elections) reach(ctx context.Context) error {
	_, err := e.client.Get(ctx, "/")
	return err
}

func (e *elections) close() error { return e.client.Close() }

// lock campaigns, which the library does until it leads. Who does not wait asks for a leader before.
func (e *elections) lock(ctx context.Context, name string, once bool) (tenure, error) {
	session, err := concurrency.NewSession(e.client, concurrency.WithTTL(e.ttl), concurrency.WithContext(context.WithoutCancel(ctx)))
	if err != nil {
		return nil, err
	}
	t := &electionTenure{concurrency.NewElection(session, name), session}
	if once {
		_, err = t.Leader(ctx)
	}
	switch {
	case once && err == nil:
		return nil, errors.Join(errRefused, session.Close())
	case !once || errors.Is(err, concurrency.ErrElectionNoLeader):
		err = t.Campaign(ctx, "leader")
	}
	if err == nil {
		return t, nil
	}
	err = errors.Join(err, session.Close())
	if ctx.Err() != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	return nil, err
}

// electionTenure is the tenure of a leader. Its token is the revision by which its key was made.
type electionTenure struct {
	*concurrency.Election
	session *concurrency.Session
}

func (t *electionTenure) name() (string, int64) {
	return fmt.Sprintf("%s@%d", t.Key(), t.Rev()), t.Rev()
}

// held asks the session, which renews its lease, and knows when it could not.
func (t *electionTenure) held(context.Context) (bool, error) { return t.acquired() }

func (t *electionTenure) acquired() (bool, error) {
	select {
	case <-t.session.Done():
		return false, nil
	default:
		return true, nil
	}
}

func (t *electionTenure) told() bool {
	yes, _ := t.acquired() // which never fails
	return !yes
}

func (t *electionTenure) unlock(ctx context.Context) error {
	if err := t.Resign(ctx); err != nil {
		return err
	}
	err := t.session.Close()
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return nil // Resign, which the story is about, says nothing
	}
	return err
}
