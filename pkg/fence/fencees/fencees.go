// Package fencees keeps fencing marks in Elasticsearch or OpenSearch, each in the document of
// the data that it protects.
//
//	store, err := fencees.New("http://127.0.0.1:9200", "orders")
//	…
//	err = store.Do(ctx, claim, func(data json.RawMessage) (json.RawMessage, error) {
//		return json.RawMessage(`{"status": "paid"}`), nil
//	})
//
// A document has one scope, whose name is its ID, and all that the lock of the scope guards:
// Elasticsearch does a change of one document as one step, and has no other steps. The field
// "data" is the caller's, and the field "fence" is the mark. The package changes the document
// only if it is as it was read (if_seq_no, if_primary_term), so that check, mark and data are
// one step. There are no scripts.
//
// # What loses a mark
//
//   - A delete of the document. Delete data by Do, which leaves the document, with its mark.
//   - A write of the document in another way, without the field "fence".
//   - A restore of a snapshot, a crash with index.translog.durability: async, or the loss of a
//     shard that has no replica.
//
// # External versions are no marks
//
// A token as an external version (version_type=external_gte) looks like a mark: Elasticsearch
// refuses a version that is lower than the document's. But it remembers the version of a
// document that was deleted for a while only (index.gc_deletes, 60 s by default). After that
// it takes any version, and a stale write brings the document back. There is no sequence, and
// no shared mode either.
package fencees

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/esdoc"
	"github.com/fencelab/fencelab/pkg/internal/swap"
)

// Store is an index whose documents have marks. It has no state of its own: any number of
// them may stand before one index.
type Store struct {
	// Bound returns the highest token that the issuer can have given out for the claim's
	// scope, as that of fence.Register. Nil: no bound is known, and one huge token locks out
	// all others.
	Bound func(fence.Claim) (fence.Token, error)

	index *esdoc.Index
}

// Option is a choice for New.
type Option func(*options)

type options struct{ http *http.Client }

// HTTP is the client that sends the requests, such as one that knows a certificate or adds an
// API key. Without this option it is http.DefaultClient. Redirects are not followed.
func HTTP(client *http.Client) Option { return func(o *options) { o.http = client } }

// New returns a store in an index. address is the URL of a node, or of what stands before the
// nodes, and may have a user and a password.
func New(address, index string, some ...Option) (*Store, error) {
	o := options{http: http.DefaultClient}
	for _, choice := range some {
		choice(&o)
	}
	x, err := esdoc.New(address, index, o.http)
	if err != nil {
		return nil, fmt.Errorf("fencees: %w", err)
	}
	return &Store{index: x}, nil
}

var errZero = fence.Definite.New("fencees: this Store was not made by New")

// Create creates the index, if it is not there, without fields to search for. Who wants to
// search creates it in another way, with the data's fields below "data".
func (s *Store) Create(ctx context.Context) error {
	if s.index == nil {
		return errZero
	}
	if err := s.index.Create(ctx); err != nil {
		return fmt.Errorf("fencees: %w", err)
	}
	return nil
}

// document is one of the index.
type document struct {
	Fence *mark           `json:"fence"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// mark is that of a document.
type mark struct {
	Token    fence.Token `json:"token"`
	Sequence int64       `json:"sequence,omitempty"`
	Shared   fence.Token `json:"shared,omitempty"`
	By       string      `json:"by,omitempty"` // the call of Do that has written it
}

func (d document) kept() swap.Kept {
	m := d.Fence
	if m == nil {
		return swap.Kept{}
	}
	return swap.Kept{Mark: fence.Mark{Token: m.Token, Sequence: m.Sequence, Shared: m.Shared}, By: m.By}
}

// Do changes the data of c's scope by edit, if c is admitted, and raises the mark, in one step.
// edit gets the data, nil where there is none, and returns the data to keep, nil to delete it.
// A read raises the mark, too: its edit returns what it gets. edit may be called again with
// other data, where somebody has changed the document meanwhile; its last call counts. Where
// edit fails, Do changes nothing and returns edit's error.
//
// With a refusal, as Mark.Admit of package fence has them, or with fence.ErrDuplicate,
// neither data nor mark has changed. A token beyond the bound is refused with a
// *fence.AheadError; where Bound returns an error, Do returns fence.ErrNoBound. A token
// that was admitted before was issued, whatever Bound says.
//
// Of every other error fence.OutcomeOf says what is known: Definite where nothing was done,
// else Unknown.
//
// If a proxy sends a write twice, the second one is refused because of the first one. Do finds its own write in the document.
// If somebody else has changed the document in between, Do does not find it, and makes the change once more.
// If ctx is done by then, or the document cannot be read, the error is Unknown.
func (s *Store) Do(ctx context.Context, c fence.Claim, edit func(data json.RawMessage) (json.RawMessage, error)) error {
	if s.index == nil {
		return errZero
	}
	if err := esdoc.CheckScope(c.Scope); err != nil {
		return err
	}
	place := swap.Place[versioned]{Package: "fencees", Bound: s.Bound,
		Read: func(ctx context.Context) (versioned, swap.Kept, error) {
			var d document
			read, err := s.index.Get(ctx, c.Scope, &d)
			return versioned{d.Data, read}, d.kept(), err
		},
		Write: func(ctx context.Context, v versioned, kept swap.Kept) (bool, error) {
			m := kept.Mark
			_, written, err := s.index.Put(ctx, c.Scope, v.read, document{&mark{m.Token, m.Sequence, m.Shared, kept.By}, v.data})
			return written, err
		},
	}
	return place.Do(ctx, c, func(v versioned) (_ versioned, err error) {
		v.data, err = edit(v.data)
		return v, err
	})
}

// versioned is the data of a document as it was read.
type versioned struct {
	data json.RawMessage
	read esdoc.Version
}

// Read returns the data of a scope, nil where there is none, and its mark. It shows no token
// and raises no mark.
func (s *Store) Read(ctx context.Context, scope string) (json.RawMessage, fence.Mark, error) {
	if s.index == nil {
		return nil, fence.Mark{}, errZero
	}
	if err := esdoc.CheckScope(scope); err != nil {
		return nil, fence.Mark{}, err
	}
	var d document
	if _, err := s.index.Get(ctx, scope, &d); err != nil {
		return nil, fence.Mark{}, fmt.Errorf("fencees: scope %q: %w", scope, err)
	}
	return d.Data, d.kept().Mark, nil
}
