package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	asksAgain  = 100 * time.Millisecond // after what time a waiter asks again, and a client tries another connection
	asksWithin = time.Second            // for how long an answer is waited for, and how often a silent connection is tried
)

// keys are the locks of one client. A lock is a key of the bucket, and the key's value is the name of the tenure.
type keys struct {
	settings
	conn   *nats.Conn
	stream jetstream.JetStream
	values jetstream.KeyValue
}

// openKeys connects in the background. What is asked without a connection fails at once, and is not sent later.
func openKeys(s settings) (locks, error) {
	conn, err := nats.Connect(strings.Join(s.endpoints, ","), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(asksAgain), nats.ReconnectJitter(0, 0), nats.ReconnectBufSize(-1), nats.PingInterval(asksWithin), nats.Timeout(asksWithin))
	if err != nil {
		return nil, err
	}
	stream, err := jetstream.New(conn)
	return &keys{settings: s, conn: conn, stream: stream}, err
}

func (k *keys) reach(ctx context.Context) (err error) {
	if k.values == nil {
		k.values, err = k.stream.KeyValue(ctx, bucket)
	}
	return err
}

func (k *keys) close() error {
	k.conn.Close()
	return nil
}

func (k *keys) lock(ctx context.Context, name string, once bool) (tenure, error) {
	return k.lockAs(ctx, name, rand.Text(), once)
}

func (k *keys) lockAs(ctx context.Context, name, owner string, once bool) (tenure, error) {
	var options []jetstream.KVCreateOpt
	if k.by != "create" {
		options = append(options, jetstream.KeyTTL(k.ttl))
	}
	end := time.Now().Add(k.timeout) // of the time in which the servers have to answer
	var unsure error                 // why it is not known what became of the last attempt
	for {
		revision, err := k.create(ctx, name, owner, options)
		if err == nil {
			return &keyTenure{k, name, owner, revision, revision}, nil
		}
		answered := otherRevision(err)
		if answered { // no attempt before it can succeed any more: revisions only grow
			unsure, end = nil, time.Now().Add(k.timeout)
		} else {
			unsure = err
		}
		if once && answered || ctx.Err() != nil || time.Now().After(end) {
			return nil, cmp.Or(unsure, errRefused)
		}
		select {
		case <-ctx.Done():
		case <-time.After(asksAgain):
		}
	}
}

// create asks once. Where an earlier attempt has made the key, and was not answered, that is the grant.
func (k *keys) create(ctx context.Context, name, owner string, options []jetstream.KVCreateOpt) (uint64, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), asksWithin)
	defer cancel()
	revision, err := k.values.Create(ctx, name, []byte(owner), options...)
	if !otherRevision(err) {
		return revision, err
	}
	entry, unread := k.values.Get(ctx, name)
	switch {
	case unread != nil: // a leader without a majority refuses an attempt because of an earlier one, which it may store later
		return 0, fmt.Errorf("refused because of another change, and %w", unread)
	case string(entry.Value()) == owner:
		return entry.Revision(), nil
	}
	return 0, err
}

// otherRevision reports that the last revision of a key is not the one that a request wants.
func otherRevision(err error) bool {
	code := new(jetstream.APIError)
	return errors.Is(err, jetstream.ErrKeyExists) || errors.Is(err, jetstream.ErrKeyRevisionMismatch) ||
		errors.As(err, &code) && (code.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || code.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// keyTenure is a key with the tenure's name.
type keyTenure struct {
	of          *keys
	key, owner  string
	token, last uint64 // the revision with which it was created, and its last one
}

func (t *keyTenure) name() (string, int64) { return t.owner, int64(t.token) }

// held renews the lease where the recipe does, and else reads the key.
func (t *keyTenure) held(ctx context.Context) (bool, error) {
	var err error
	switch t.of.by {
	case "create-ttl":
		err = t.own(ctx, t.renew)
	case "create-ttl-update":
		err = t.own(ctx, func(ctx context.Context) (uint64, error) {
			return t.of.values.Update(ctx, t.key, []byte(t.owner), t.last)
		})
	default:
		err = t.read(ctx)
	}
	if errors.Is(err, errGone) {
		return false, nil
	}
	return err == nil, err
}

// renew writes the key anew with another TTL. The bucket's own Update writes a key without one.
func (t *keyTenure) renew(ctx context.Context) (uint64, error) {
	done, err := t.of.stream.Publish(ctx, "$KV."+bucket+"."+t.key, []byte(t.owner), jetstream.WithMsgTTL(t.of.ttl), jetstream.WithExpectLastSequencePerSubject(t.last))
	if err != nil {
		return 0, err
	}
	return done.Sequence, nil
}

// errGone says that the key is not the tenure's any more.
var errGone = errors.New("the key is gone, or another one's")

// own does something with the key's last revision. If that is another one, a renewal was not answered, and the key has the
// tenure's name, or the tenure is over.
func (t *keyTenure) own(ctx context.Context, do func(context.Context) (uint64, error)) error {
	next, err := do(ctx)
	if otherRevision(err) {
		if err = t.read(ctx); err == nil {
			next, err = do(ctx)
		}
	}
	if err == nil {
		t.last = next
	}
	return err
}

// read finds the key's last revision. errGone: it is not the tenure's.
func (t *keyTenure) read(ctx context.Context) error {
	entry, err := t.of.values.Get(ctx, t.key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound), err == nil && string(entry.Value()) != t.owner:
		return errGone
	case err != nil:
		return err
	}
	t.last = entry.Revision()
	return nil
}

func (t *keyTenure) acquired() (bool, error) { return false, errRefused }

func (t *keyTenure) unlock(ctx context.Context) error {
	if t.of.by == "create-ttl-delete" {
		return t.of.values.Delete(ctx, t.key)
	}
	err := t.own(ctx, func(ctx context.Context) (uint64, error) {
		return t.last, t.of.values.Delete(ctx, t.key, jetstream.LastRevision(t.last))
	})
	if errors.Is(err, errGone) {
		return over{err}
	}
	return err
}
