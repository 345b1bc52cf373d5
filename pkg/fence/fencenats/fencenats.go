// Package fencenats keeps fencing marks in a bucket of NATS JetStream, each in the entry of the data that it protects.
//
//	conn, err := nats.Connect("nats://127.0.0.1:4222")
//	…
//	js, err := jetstream.New(conn)
//	…
//	err = fencenats.Create(ctx, js, "orders", 3)
//	…
//	store, err := fencenats.New(ctx, js, "orders")
//	…
//	err = store.Do(ctx, claim, func(data []byte) ([]byte, error) {
//		return []byte(`{"status": "paid"}`), nil
//	})
//
// A key of the bucket has one scope, and all that the lock of the scope guards: NATS changes one key as one step. The value
// is the caller's data, so that KeyValue.Get and KeyValue.Watch have them. The mark is in a header of the same message. The
// package writes a key only if it knows the key's last revision, so that check, mark and data are one step.
//
// # What loses a mark
//
//   - KeyValue.Put, Create, Update, Delete and Purge of the key: they write it without the header.
//   - KeyValue.PurgeDeletes: it removes keys whose data were deleted, with their marks.
//   - A bucket with a TTL, which New refuses.
//   - The end of the machine, if the server had not synced the entry (sync_interval, two minutes by default); a
//     restart, if the bucket is in memory; a restored backup.
package fencenats

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/scopekey"
	"github.com/fencelab/fencelab/pkg/internal/swap"
)

// Store is a bucket whose entries have marks. It has no state of its own: any number of them may stand before one bucket.
type Store struct {
	// Bound returns the highest token that the issuer can have given out for the claim's scope, as that of
	// fence.Register. Nil: no bound is known, and one huge token locks out all others.
	Bound func(fence.Claim) (fence.Token, error)

	js     jetstream.JetStream
	stream jetstream.Stream
	prefix string // of the subjects of keys
}

// answerWithin is how long an answer is waited for. The client of NATS asks once, and a request is lost where no server
// leads the bucket.
const answerWithin = 5 * time.Second

// Create creates the bucket, in files, if it is not there. replicas is on how many servers it is kept: 1, 3 or 5. The one
// that leads the bucket answers all reads, also those of KeyValue.Get, as another one may be behind: the bucket allows no
// direct gets.
func Create(ctx context.Context, js jetstream.JetStream, bucket string, replicas int) error {
	if js == nil {
		return errNoNATS
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	_, err := js.CreateStream(ctx, jetstream.StreamConfig{ // as KeyValueConfig makes it, but for AllowDirect
		Name: "KV_" + bucket, Subjects: []string{"$KV." + bucket + ".>"}, Replicas: replicas, MaxMsgsPerSubject: 1,
		Discard: jetstream.DiscardNew, DenyDelete: true, AllowRollup: true, Duplicates: 2 * time.Minute,
		MaxMsgs: -1, MaxBytes: -1, MaxMsgSize: -1, MaxConsumers: -1,
	})
	if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return fmt.Errorf("fencenats: the bucket %s: %w", bucket, err)
	}
	return nil
}

// New returns a store in a bucket, which has to be there: see Create.
func New(ctx context.Context, js jetstream.JetStream, bucket string) (*Store, error) {
	if js == nil {
		return nil, errNoNATS
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	stream, err := js.Stream(ctx, "KV_"+bucket)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		return nil, fence.Definite.Wrap(fmt.Errorf("fencenats: there is no bucket %s, see Create: %w", bucket, err))
	case err != nil:
		return nil, fmt.Errorf("fencenats: the bucket %s: %w", bucket, err)
	case stream.CachedInfo().Config.MaxAge > 0:
		return nil, fence.Definite.New(fmt.Sprintf("fencenats: the bucket %s has a TTL, which would end marks: want one without", bucket))
	}
	return &Store{js: js, stream: stream, prefix: "$KV." + bucket + "."}, nil
}

var errNoNATS = fence.Definite.New("fencenats: the JetStream is nil")

var errZero = fence.Definite.New("fencenats: this Store was not made by New")

// Do changes the data of c's scope by edit, if c is admitted, and raises the mark, in one step. edit gets the data, nil
// where there are none, and returns the data to keep, nil to delete them. A read raises the mark, too: its edit returns what
// it gets. edit may be called again with other data, where somebody has changed the entry meanwhile; its last call counts.
// Where edit fails, Do changes nothing and returns edit's error.
//
// With a refusal, as Mark.Admit of package fence has them, or with fence.ErrDuplicate, neither data nor mark has changed. A
// token beyond the bound is refused with a *fence.AheadError; where Bound returns an error, Do returns fence.ErrNoBound. A
// token that was admitted before was issued, whatever Bound says.
//
// Of every other error fence.OutcomeOf says what is known: Definite where nothing was done, else Unknown.
func (s *Store) Do(ctx context.Context, c fence.Claim, edit func(data []byte) ([]byte, error)) error {
	if s.stream == nil {
		return errZero
	}
	key, err := scopekey.Of(c.Scope)
	if err != nil {
		return err
	}
	if _, err := (fence.Mark{}).Admit(c); err != nil {
		return err
	}
	for {
		if err := s.attempt(ctx, c, key, edit); err != errMoved {
			return err
		}
		select {
		case <-time.After(rand.N(again)):
		case <-ctx.Done():
			return fence.Definite.Wrap(failed(c, fmt.Errorf("nothing was done: %w", ctx.Err())))
		}
	}
}

// again is how long a change waits at most that somebody else came before, so that those who change one key do not meet
// again and again.
const again = 2 * time.Millisecond

// attempt is Do, if nobody changes the key meanwhile. What it reads can be older than the last entry, if a server answers
// that is behind. A mark only grows: what an older one refuses the last one refuses, too.
func (s *Store) attempt(ctx context.Context, c fence.Claim, key string, edit func([]byte) ([]byte, error)) error {
	e, err := s.read(ctx, key)
	if err != nil {
		return failed(c, fence.Definite.Wrap(err))
	}
	now, err := swap.Admit(e.mark, c, s.Bound)
	if err != nil {
		return err
	}
	if e.data, err = edit(e.data); err != nil {
		return err
	}
	e.mark = now.Done(c)
	if err = s.write(ctx, key, e); err == nil || err == errMoved {
		return err
	}
	return failed(c, err)
}

// failed says in which scope an error was.
func failed(c fence.Claim, err error) error {
	return fmt.Errorf("fencenats: scope %q, token %d: %w", c.Scope, c.Token, err)
}

// Read returns the data of a scope, nil where there are none, and its mark. It shows no token and raises no mark. In
// a bucket that Create has not made, a server may answer that is behind.
func (s *Store) Read(ctx context.Context, scope string) ([]byte, fence.Mark, error) {
	if s.stream == nil {
		return nil, fence.Mark{}, errZero
	}
	key, err := scopekey.Of(scope)
	if err != nil {
		return nil, fence.Mark{}, err
	}
	e, err := s.read(ctx, key)
	if err != nil {
		return nil, fence.Mark{}, fmt.Errorf("fencenats: scope %q: %w", scope, err)
	}
	return e.data, e.mark, nil
}

// entry is a message of a key, with its revision. A key that never was has the revision 0.
type entry struct {
	data     []byte
	mark     fence.Mark
	revision uint64
}

// Headers of a message.
const (
	markHeader = "Fence-Mark"   // the token, the sequence and the shared token of a mark
	operation  = "KV-Operation" // of the client of NATS: without it there are data
)

// read reads the last entry of a key.
func (s *Store) read(ctx context.Context, key string) (e entry, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	m, err := s.stream.GetLastMsgForSubject(ctx, s.prefix+key)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return entry{}, nil
	}
	if err != nil {
		return entry{}, err
	}
	e.revision = m.Sequence
	if m.Header.Get(operation) == "" {
		e.data = append([]byte{}, m.Data...)
	}
	if mark := m.Header.Get(markHeader); mark != "" {
		if _, err := fmt.Sscanf(mark, "%d %d %d", &e.mark.Token, &e.mark.Sequence, &e.mark.Shared); err != nil {
			return entry{}, fence.Definite.New(fmt.Sprintf("the key %s has the mark %q, which is none of this package", key, mark))
		}
	}
	return e, nil
}

// errMoved: the key's last revision is not the one that was read.
var errMoved = errors.New("the key has changed")

// write writes an entry, if its revision is the last one of the key.
func (s *Store) write(ctx context.Context, key string, e entry) error {
	m := nats.NewMsg(s.prefix + key)
	m.Data = e.data
	m.Header.Set(markHeader, fmt.Sprint(e.mark.Token, " ", e.mark.Sequence, " ", e.mark.Shared))
	if e.data == nil {
		m.Header.Set(operation, "DEL")
	}
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	_, err := s.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(e.revision))
	said := new(jetstream.APIError)
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &said):
		return fence.Unknown.Wrap(err)
	case said.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence, said.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant:
		return errMoved
	case said.Code < 500:
		return fence.Definite.Wrap(err)
	}
	return fence.Unknown.Wrap(err)
}
