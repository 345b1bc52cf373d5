// Package fences3 keeps fencing marks in a bucket of S3, each in the object of the data that it protects.
//
//	store, err := fences3.New(ctx, client, "orders")
//	…
//	err = store.Do(ctx, claim, func(data []byte) ([]byte, error) {
//		return []byte(`{"status": "paid"}`), nil
//	})
//
// An object has one scope, and all that the lock of the scope guards: S3 changes one object as one step. The package writes
// an object only if its ETag is as it was read (If-Match), or if there was none (If-None-Match: *). So check, mark and data
// are one step. Of the scope's bytes letters, digits, "-" and "_" stay in the key, and the others are written as =XX.
//
// # The mark is in the content
//
// The first line of an object has the mark, and the data are what follows:
//
//	Fence-Mark: 34 0 0 by QZ2ADHLNQUXS6WOGQBFM7JVPCD
//	{"status": "paid"}
//
// The last word names the call of Do that has written the object. Who reads the object in another way leaves out that line.
// The mark is not in the metadata, because an ETag is a check sum of the content alone. A later holder that writes the same
// data again, as a read does that raises the mark, would leave the ETag as it was. A PUT that an earlier holder had begun
// before would then pass, and take the mark down again.
//
// # What loses a mark
//
//   - A PUT or a copy in another way, without the line or with an older one. What has no such line has no mark, and all of
//     it is data: so a bucket that is in use can be taken over.
//   - A DELETE of the object, or a lifecycle rule that expires it. Delete data by Do, which leaves the line.
//   - Replication from another bucket, and a version that somebody brings back: both write whatever is there.
//
// # What the bucket allows
//
// The client needs s3:GetObject, s3:PutObject and s3:ListBucket. Without the last one S3 says of an object that is not there
// that the access is denied, and Do returns that error.
package fences3

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/swap"
)

// Store is a bucket whose objects have marks. It has no state of its own: any number of them may stand before one bucket.
type Store struct {
	// Bound returns the highest token that the issuer can have given out for the claim's scope, as that of
	// fence.Register. Nil: no bound is known, and one huge token locks out all others.
	Bound func(fence.Claim) (fence.Token, error)

	client *s3.Client
	bucket string
}

// New returns a store in a bucket, which has to be there. It tries whether the server obeys conditions: one that ignores
// them would keep no mark. For that it makes a small object, whose key is that of no scope.
func New(ctx context.Context, client *s3.Client, bucket string) (*Store, error) {
	if client == nil {
		return nil, fence.Definite.New("fences3: the client is nil")
	}
	s := &Store{client: client, bucket: bucket}
	if err := s.try(ctx); err != nil {
		return nil, fmt.Errorf("fences3: the bucket %s: %w", bucket, err)
	}
	return s, nil
}

var errZero = fence.Definite.New("fences3: this Store was not made by New")

// Do changes the data of c's scope by edit, if c is admitted, and raises the mark, in one step. edit gets the data, nil
// where there are none, and returns the data to keep, nil to delete them. A read raises the mark, too: its edit returns what
// it gets. edit may be called again with other data, where somebody has changed the object meanwhile; its last call counts.
// Where edit fails, Do changes nothing and returns edit's error.
//
// With a refusal, as Mark.Admit of package fence has them, or with fence.ErrDuplicate, neither data nor mark has changed. A
// token beyond the bound is refused with a *fence.AheadError; where Bound returns an error, Do returns fence.ErrNoBound. A
// token that was admitted before was issued, whatever Bound says.
//
// Of every other error fence.OutcomeOf says what is known: Definite where nothing was done, else Unknown. Do sends each PUT
// once, whatever the client's Retryer says: a second one would be refused because of the first one, if that was done and
// its answer was lost. Do waits for an answer until ctx is done, or as long as the client's HTTPClient waits.
//
// If a proxy sends a PUT twice, the second one is refused because of the first one. Do finds its own write in the object. If
// somebody else has changed the object in between, Do does not find it, and makes the change once more. If ctx is done by
// then, or the object cannot be read, the error is Unknown.
func (s *Store) Do(ctx context.Context, c fence.Claim, edit func(data []byte) ([]byte, error)) error {
	if s.client == nil {
		return errZero
	}
	key, err := keyOf(c.Scope)
	if err != nil {
		return err
	}
	place := swap.Place[object]{Package: "fences3", Bound: s.Bound,
		Read: func(ctx context.Context) (object, swap.Kept, error) {
			o, err := s.read(ctx, key)
			if err != nil {
				err = fence.Definite.Wrap(err)
			}
			return o, o.Kept, err
		},
		Write: func(ctx context.Context, o object, kept swap.Kept) (bool, error) {
			o.Kept = kept
			return s.write(ctx, key, o)
		},
	}
	return place.Do(ctx, c, func(o object) (_ object, err error) {
		o.data, err = edit(o.data)
		return o, err
	})
}

// Read returns the data of a scope, nil where there are none, and its mark. It shows no token and raises no mark.
func (s *Store) Read(ctx context.Context, scope string) ([]byte, fence.Mark, error) {
	if s.client == nil {
		return nil, fence.Mark{}, errZero
	}
	key, err := keyOf(scope)
	if err != nil {
		return nil, fence.Mark{}, err
	}
	o, err := s.read(ctx, key)
	if err != nil {
		return nil, fence.Mark{}, fmt.Errorf("fences3: scope %q: %w", scope, err)
	}
	return o.data, o.Mark, nil
}

// probe is the key of an object that is there to try conditions. No scope has it: keyOf writes "=" before two digits.
const probe = "=probe"

// noETag is none of an object that try makes.
const noETag = `"00000000000000000000000000000000"`

// try tries whether the server refuses what is not as a condition says.
func (s *Store) try(ctx context.Context) error {
	if _, err := s.write(ctx, probe, object{}); err != nil {
		return err
	}
	for _, is := range []struct{ condition, etag string }{{"If-None-Match", ""}, {"If-Match", noETag}} {
		switch written, err := s.write(ctx, probe, object{etag: is.etag}); {
		case err != nil:
			return err
		case written:
			return fence.Definite.New("its server ignores " + is.condition + ", and so keeps no mark: want one with conditional writes")
		}
	}
	return nil
}
