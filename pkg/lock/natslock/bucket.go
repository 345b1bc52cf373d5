package natslock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock/internal/attempt"
)

// bucket has the locks.
type bucket struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	keys   jetstream.KeyValue
	prefix string // of the subjects of keys
	answer time.Duration
}

// longAnswer is how long an answer is waited for at most. The client of NATS asks once, and a request is lost where no
// server leads the bucket.
const longAnswer = 5 * time.Second

func openBucket(ctx context.Context, js jetstream.JetStream, name string, ttl time.Duration) (*bucket, error) {
	ctx, cancel := context.WithTimeout(ctx, longAnswer)
	defer cancel()
	keys, err := js.KeyValue(ctx, name)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return nil, fence.Definite.Wrap(fmt.Errorf("the bucket %s: %w: see Create", name, err))
	}
	if err != nil {
		return nil, fmt.Errorf("the bucket %s: %w", name, err)
	}
	stream, err := js.Stream(ctx, "KV_"+name)
	if err != nil {
		return nil, fmt.Errorf("the bucket %s: %w", name, err)
	}
	if config := stream.CachedInfo().Config; !config.AllowMsgTTL || config.SubjectDeleteMarkerTTL == 0 {
		return nil, fence.Definite.New(fmt.Sprintf("the bucket %s was made without LimitMarkerTTL, so that its keys have no time to live: want one that Create has made", name))
	}
	return &bucket{js, stream, keys, "$KV." + name + ".", min(max(ttl/3, time.Second), longAnswer)}, nil
}

// holder is the value of a key.
type holder struct {
	Owner string `json:"owner"`
	Words string `json:"words,omitempty"`
	Token uint64 `json:"token,omitempty"` // from the first renewal on; before it, the token is the revision
}

// entry is the last change of a key. Without an owner the key has ended. A key that never was has the revision 0.
type entry struct {
	holder
	revision uint64
}

func (e entry) token() uint64 {
	if e.Token > 0 {
		return e.Token
	}
	return e.revision
}

// errMoved: the key's last revision is not the one that a request wants.
var errMoved = errors.New("the key has changed")

// put writes a key if last is its last revision.
func (b *bucket) put(ctx context.Context, key string, h holder, ttl time.Duration, last uint64) (revision uint64, err error) {
	value, err := json.Marshal(h)
	if err != nil {
		return 0, fence.Definite.Wrap(err)
	}
	return b.publish(ctx, &nats.Msg{Subject: b.prefix + key, Data: value}, ttl, last)
}

func (b *bucket) publish(ctx context.Context, m *nats.Msg, ttl time.Duration, last uint64) (revision uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.answer)
	defer cancel()
	ack, err := b.js.PublishMsg(ctx, m, jetstream.WithMsgTTL(ttl), jetstream.WithExpectLastSequencePerSubject(last))
	if err == nil {
		return ack.Sequence, nil
	}
	if said := new(jetstream.APIError); errors.As(err, &said) {
		switch {
		case said.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence, said.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant:
			return 0, errMoved
		case said.Code < 500:
			return 0, fence.Definite.Wrap(err)
		}
	}
	return 0, fence.Unknown.Wrap(err)
}

// read reads the last entry of a key. On several servers it can be an older one.
func (b *bucket) read(ctx context.Context, key string) (entry, error) {
	ctx, cancel := context.WithTimeout(ctx, b.answer)
	defer cancel()
	m, err := b.stream.GetLastMsgForSubject(ctx, b.prefix+key)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return entry{}, nil
	case err != nil:
		return entry{}, err
	case m.Header.Get("Nats-Marker-Reason") != "" || m.Header.Get("KV-Operation") != "":
		return entry{revision: m.Sequence}, nil
	}
	e := entry{revision: m.Sequence}
	if err := json.Unmarshal(m.Data, &e.holder); err != nil || e.Owner == "" {
		return entry{}, fence.Definite.New(fmt.Sprintf("the key %s has %q, which is no lock of this package", key, m.Data))
	}
	return e, nil
}

// make makes a key that has ended. It returns the key's first revision; 0: another owner has the key. With an error the
// key may be made, or be made later, if last is the key's last revision then.
func (b *bucket) make(ctx context.Context, key string, h holder, ttl time.Duration) (revision, last uint64, err error) {
	for {
		revision, err := b.put(ctx, key, h, ttl, last)
		if err != errMoved {
			return revision, last, err
		}
		now, err := b.read(ctx, key)
		switch {
		case err != nil:
			return 0, last, err
		case now.Owner != "", now.revision == last: // what was read is older than what has moved
			return 0, last, nil
		}
		last = now.revision
	}
}

// keep writes a key anew, for an owner that has it with the revision last.
func (b *bucket) keep(ctx context.Context, key string, h holder, ttl time.Duration, last uint64) (revision uint64, held bool, err error) {
	held, err = b.own(ctx, key, h.Owner, last, func(last uint64) (err error) {
		revision, err = b.put(ctx, key, h, ttl, last)
		return err
	})
	return revision, held, err
}

var errOld = fence.Unknown.New("what was read is an older entry than the last one")

// own changes a key for an owner that has it with the revision last, or with a later one: an earlier change may not have been
// answered. It reports whether the key was the owner's.
func (b *bucket) own(ctx context.Context, key, owner string, last uint64, change func(last uint64) error) (bool, error) {
	for {
		if err := change(last); err != errMoved {
			return err == nil, err
		}
		now, err := b.read(ctx, key)
		switch {
		case err != nil:
			return false, err
		case now.revision <= last && now.revision > 0:
			return false, errOld
		case now.Owner != owner:
			return false, nil
		}
		last = now.revision
	}
}

// end ends a key, if it is the owner's, who wanted to make it after the revision last. Afterwards no request that was sent
// before makes the key for the owner: such a request wants a revision that is not the last one any more. What another owner
// had up to that revision has ended: whoever reads it reads an older entry, and asks again.
func (b *bucket) end(ctx context.Context, key, owner string, last uint64) error {
	for {
		now, err := b.read(ctx, key)
		if err != nil || now.Owner != "" && now.Owner != owner && now.revision > last {
			return err
		}
		if err := b.mark(ctx, key, now.revision); err != errMoved {
			return err
		}
		if err := attempt.Sleep(ctx, again); err != nil {
			return fence.Unknown.Wrap(err)
		}
	}
}

// again is how long the next attempt to end a key waits. A server can be behind, and a leader that has lost the others
// refuses each change after the first one.
const again = 10 * time.Millisecond

// release ends a key that an owner has with the revision last. It reports whether the key was the owner's.
func (b *bucket) release(ctx context.Context, key, owner string, last uint64) (bool, error) {
	return b.own(ctx, key, owner, last, func(last uint64) error { return b.mark(ctx, key, last) })
}

// mark marks a key as ended if last is its last revision.
func (b *bucket) mark(ctx context.Context, key string, last uint64) error {
	m := nats.NewMsg(b.prefix + key)
	m.Header.Set("KV-Operation", "DEL") // as KeyValue.Delete does
	_, err := b.publish(ctx, m, markers, last)
	return err
}

// ends tells when a key ends, until ctx is done.
func (b *bucket) ends(ctx context.Context, key string) (<-chan struct{}, error) {
	watcher, err := b.keys.Watch(ctx, key)
	if err != nil {
		return nil, err
	}
	news := make(chan struct{}, 1)
	go func() {
		defer watcher.Stop()
		for {
			select {
			case e := <-watcher.Updates():
				if e == nil || e.Operation() == jetstream.KeyValuePut {
					continue
				}
				select {
				case news <- struct{}{}:
				default:
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return news, nil
}
