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
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/kube"
	"github.com/fencelab/fencelab/pkg/internal/swap"
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
	place := swap.Place[edited]{Package: "fencek8s", Bound: s.Bound,
		Read: func(ctx context.Context) (edited, swap.Kept, error) {
			was, err := s.objects.Get(ctx, name)
			if err != nil {
				return edited{}, swap.Kept{}, err
			}
			version, kept, err := read(was)
			return edited{was: was, version: version}, kept, err
		},
		Write: func(ctx context.Context, v edited, kept swap.Kept) (bool, error) {
			if v.object == nil && v.was != nil {
				return false, errDelete
			}
			object, err := marked(v.object, name, v.version, kept)
			if err != nil {
				return false, err
			}
			left := []byte(nil)
			if v.was == nil {
				left, err = s.objects.Create(ctx, object)
			} else {
				left, err = s.objects.Update(ctx, name, object)
			}
			return left != nil, err
		},
	}
	return place.Do(ctx, c, func(v edited) (_ edited, err error) {
		v.object, err = edit(v.was)
		return v, err
	})
}

// edited is an object as it was read, and as edit leaves it.
type edited struct {
	was     []byte // nil: there was none
	version string
	object  []byte
}

var errDelete = fence.Definite.New("edit returned no object, and Do deletes none: the mark would be lost")

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
	var kept swap.Kept
	if err == nil {
		_, kept, err = read(object)
	}
	if err != nil {
		return nil, fence.Mark{}, fmt.Errorf("fencek8s: scope %q: %w", scope, err)
	}
	return object, kept.Mark, nil
}
