// Package fencek8s keeps fencing marks in Kubernetes, each in an annotation of the object that it protects. A policy of the
// API server refuses the writes that show no token, or an old one.
//
//	client, err := rest.HTTPClientFor(config) // of client-go
//	…
//	store, err := fencek8s.New(config.Host, "/api/v1/namespaces/default/configmaps", fencek8s.HTTP(client))
//	…
//	err = store.Do(ctx, claim, fencek8s.Edit(func(orders *corev1.ConfigMap) error {
//		orders.Data["7"] = "paid"
//		return nil
//	}))
//
// An object has one scope, and all that the lock of the scope guards. The scope is the object's name, if Kubernetes takes it
// as a name; else Name says which object it is. The package writes an object only if its resourceVersion is the one that was
// read, so that check, mark and data are one step. It needs net/http alone.
//
// # The policy
//
// Policy is a ValidatingAdmissionPolicy of Kubernetes 1.30 or later, and its binding. It takes the objects that the package
// has written, by their label. A write has to show, in annotations, a mark that is not older than the object's, and the
// resourceVersion of the object that it changes. So a write that shows no token is refused: a patch leaves the annotations
// as they are, and so does who writes back what was read. The policy refuses a delete, which would lose the mark.
//
// The policy does not see subresources: status, and scale. It binds controllers, too, that change the object.
//
// # What loses a mark
//
//   - Without the policy: a delete of the object, or a write without the annotation.
//   - With it: a write with a mark that takes the label away, and what comes after that; and whoever may change the policy.
//   - A restore of etcd from a backup.
package fencek8s

import (
	"context"
	cryptorand "crypto/rand"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/kube"
)

//go:embed policy.yaml
var policy string

// Policy is the policy and its binding, in YAML, for kubectl apply.
func Policy() string { return policy }

// Name is the name of a scope's object: the scope itself, if Kubernetes takes it as a name. Of other scopes small letters and
// digits stay, the other bytes are written as -xx, and the name begins with "scope-". It has 253 bytes at most.
func Name(scope string) (string, error) { return kube.Name(scope) }

// Store is the objects of one resource in a namespace. It has no state of its own: any number of them may stand before the
// same objects.
type Store struct {
	// Bound returns the highest token that the issuer can have given out for the claim's scope, as that of
	// fence.Register. Nil: no bound is known, and one huge token locks out all others.
	Bound func(fence.Claim) (fence.Token, error)

	objects *kube.Objects
}

// Option is a choice for New.
type Option func(*options)

type options struct{ http *http.Client }

// HTTP is the client that sends the requests, with the certificate of the API server and what proves who asks, as client-go's
// rest.HTTPClientFor makes it. Without this option it is http.DefaultClient. Redirects are not followed.
func HTTP(client *http.Client) Option { return func(o *options) { o.http = client } }

// New returns a store. address is the URL of the API server, such as Host of client-go's rest.Config. path is that of the
// objects, such as /api/v1/namespaces/NAMESPACE/configmaps, or /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE.
func New(address, path string, some ...Option) (*Store, error) {
	o := options{http: http.DefaultClient}
	for _, choice := range some {
		choice(&o)
	}
	objects, err := kube.New(address, path, o.http)
	if err != nil {
		return nil, fmt.Errorf("fencek8s: %w", err)
	}
	return &Store{objects: objects}, nil
}

var errZero = fence.Definite.New("fencek8s: this Store was not made by New")

// Edit is an edit for Do of an object that is decoded into a T, such as corev1.ConfigMap. Fields that T does not have are
// lost.
func Edit[T any](edit func(*T) error) func(object []byte) ([]byte, error) {
	return func(object []byte) ([]byte, error) {
		var v T
		if object != nil {
			if err := json.Unmarshal(object, &v); err != nil {
				return nil, err
			}
		}
		if err := edit(&v); err != nil {
			return nil, err
		}
		return json.Marshal(v)
	}
}

// Do changes the object of c's scope by edit, if c is admitted, and raises the mark, in one step. edit gets the object in
// JSON, nil where there is none, and returns the object to keep, which Do creates where there is none. The package gives it
// its name, its label and its mark. If edit returns nil where there is none, the object that Do creates is empty. Do deletes
// no object. A read raises the mark, too: its edit returns what it gets. edit may be called again with another object, where
// somebody has changed it meanwhile; its last call counts. Where edit fails, Do changes nothing and returns edit's error.
//
// With a refusal, as Mark.Admit of package fence has them, or with fence.ErrDuplicate, neither object nor mark has changed. A
// token beyond the bound is refused with a *fence.AheadError; where Bound returns an error, Do returns fence.ErrNoBound. A
// token that was admitted before was issued, whatever Bound says.
//
// Of every other error fence.OutcomeOf says what is known: Definite where nothing was done, else Unknown.
//
// If a proxy sends a write twice, the second one is refused because of the first one. Do finds its own write in the object. If
// somebody else has changed the object in between, Do does not find it, and makes the change once more. If ctx is done by
// then, or the object cannot be read, the error is Unknown.
func (s *Store) Do(ctx context.Context, c fence.Claim, edit func(object []byte) ([]byte, error)) error {
	if s.objects == nil {
		return errZero
	}
	name, err := kube.Name(c.Scope)
	if err != nil {
		return err
	}
	if _, err := (fence.Mark{}).Admit(c); err != nil {
		return err
	}
	for by, refused := cryptorand.Text(), false; ; refused = true {
		done, err := s.attempt(ctx, c, name, by, refused, edit)
		if err != nil || done {
			return err
		}
		select {
		case <-time.After(rand.N(again)):
		case <-ctx.Done():
			return fence.Unknown.Wrap(failed(c, fmt.Errorf("a write was refused, perhaps because of a copy of itself: %w", ctx.Err())))
		}
	}
}

// again is how long a change waits at most that somebody else came before, so that those who change one object do not meet
// again and again.
const again = 10 * time.Millisecond

// attempt is Do, if nobody changes the object meanwhile. A write that something on the way sends twice is done, and is
// refused; the object tells, and without it nobody knows.
func (s *Store) attempt(ctx context.Context, c fence.Claim, name, by string, refused bool, edit func([]byte) ([]byte, error)) (done bool, err error) {
	was, err := s.objects.Get(ctx, name)
	if err != nil && refused {
		err = fence.Unknown.Wrap(err)
	}
	if err != nil {
		return false, failed(c, err)
	}
	version, before, writer, err := read(was)
	if err != nil {
		return false, failed(c, err)
	}
	if writer == by {
		return true, nil
	}
	if s.Bound != nil && c.Token > before.Highest() {
		if err := c.CheckBound(s.Bound); err != nil {
			return false, err
		}
	}
	now, err := before.Admit(c)
	if err != nil {
		return false, err
	}
	object, err := edit(was)
	if err != nil {
		return false, err
	}
	if object == nil && was != nil {
		return false, failed(c, errDelete)
	}
	object, err = marked(object, name, version, now.Done(c), by)
	if err != nil {
		return false, failed(c, err)
	}
	left := []byte(nil)
	if was == nil {
		left, err = s.objects.Create(ctx, object)
	} else {
		left, err = s.objects.Update(ctx, name, object)
	}
	if err != nil {
		return false, failed(c, err)
	}
	return left != nil, nil
}

var errDelete = fence.Definite.New("edit returned no object, and Do deletes none: the mark would be lost")

// failed says in which scope an error was.
func failed(c fence.Claim, err error) error {
	return fmt.Errorf("fencek8s: scope %q, token %d: %w", c.Scope, c.Token, err)
}

// Read returns the object of a scope in JSON, nil where there is none, and its mark. It shows no token and raises no mark.
func (s *Store) Read(ctx context.Context, scope string) ([]byte, fence.Mark, error) {
	if s.objects == nil {
		return nil, fence.Mark{}, errZero
	}
	name, err := kube.Name(scope)
	if err != nil {
		return nil, fence.Mark{}, err
	}
	object, err := s.objects.Get(ctx, name)
	var mark fence.Mark
	if err == nil {
		_, mark, _, err = read(object)
	}
	if err != nil {
		return nil, fence.Mark{}, fmt.Errorf("fencek8s: scope %q: %w", scope, err)
	}
	return object, mark, nil
}
