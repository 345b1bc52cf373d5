package k8slock

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/internal/kube"
)

// spec is the spec of a Lease, as client-go's elections have it.
type spec struct {
	HolderIdentity       string `json:"holderIdentity"` // "": nobody
	LeaseDurationSeconds int64  `json:"leaseDurationSeconds"`
	AcquireTime          string `json:"acquireTime,omitempty"`
	RenewTime            string `json:"renewTime,omitempty"`
	LeaseTransitions     int32  `json:"leaseTransitions"`
}

// microTime is how Kubernetes writes acquireTime and renewTime. This package compares neither.
const microTime = "2006-01-02T15:04:05.000000Z07:00"

// holder is an annotation of a Lease. It is of the Lease's holder if that is its owner: others who take the Lease leave the
// annotation as it is.
type holder struct {
	Owner string      `json:"owner"`
	Token fence.Token `json:"token,omitempty"` // from the first renewal on; before it, the token is the Lease's version
	Words string      `json:"words,omitempty"`
}

const holderKey = "fencelab.github.io/holder"

// lease is a Lease as it was read, or written. One that is not there has the version 0.
type lease struct {
	text    []byte // nil: it is not there
	spec    spec
	holder  holder
	version int64
}

// ttl is how long the Lease lasts after a change. One that tells no duration lasts as long as those who ask say.
func (l lease) ttl(other time.Duration) time.Duration {
	if l.spec.LeaseDurationSeconds <= 0 {
		return other
	}
	return time.Duration(l.spec.LeaseDurationSeconds) * time.Second
}

// parse reads a Lease; nil: it is not there. The errors are definite.
func parse(text []byte) (l lease, err error) {
	o, err := kube.Parse(text)
	if err != nil || text == nil {
		return lease{}, err
	}
	l.text = text
	if err := o.Field("spec", &l.spec); err != nil {
		return lease{}, err
	}
	if _, err := fmt.Sscan(o.Version, &l.version); err != nil || l.version < 1 {
		return lease{}, fence.Definite.New(fmt.Sprintf("the resourceVersion %q is no number, and so no token: want an API server whose versions are", o.Version))
	}
	if kept := o.Annotations[holderKey]; kept != "" && json.Unmarshal([]byte(kept), &l.holder) != nil {
		l.holder = holder{}
	}
	if l.holder.Owner != l.spec.HolderIdentity {
		l.holder = holder{Owner: l.spec.HolderIdentity}
	} else if l.holder.Token == 0 {
		l.holder.Token = fence.Token(l.version)
	}
	return l, nil
}

// leases are those of a namespace.
type leases struct {
	objects *kube.Objects
	answer  time.Duration // is waited for so long
}

// longAnswer is how long an answer is waited for at most.
const longAnswer = 5 * time.Second

// read reads a Lease. Its errors are definite.
func (s *leases) read(ctx context.Context, name string) (lease, error) {
	ctx, cancel := context.WithTimeout(ctx, s.answer)
	defer cancel()
	text, err := s.objects.Get(ctx, name)
	if err != nil {
		return lease{}, err
	}
	return parse(text)
}

// write writes a Lease as it was read, but for its spec and its holder, and returns it as it is then. written is false where
// somebody else has changed it.
func (s *leases) write(ctx context.Context, name string, read lease, now spec, h holder) (left lease, written bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.answer)
	defer cancel()
	now.RenewTime = time.Now().UTC().Format(microTime)
	text, err := textOf(name, read, now, h)
	if err != nil {
		return lease{}, false, err
	}
	if read.version == 0 {
		text, err = s.objects.Create(ctx, text)
	} else {
		text, err = s.objects.Update(ctx, name, text)
	}
	if err != nil || text == nil {
		return lease{}, false, err
	}
	if left, err = parse(text); err != nil {
		return lease{}, false, fence.Unknown.Wrap(err)
	}
	return left, true, nil
}

// textOf is a Lease as it was read, but for its spec and its holder. The errors are definite.
func textOf(name string, read lease, now spec, h holder) ([]byte, error) {
	o, err := kube.Parse(read.text)
	if err != nil {
		return nil, err
	}
	kept, err := json.Marshal(h)
	if err != nil {
		return nil, fence.Definite.Wrap(err)
	}
	o.Annotations[holderKey] = string(kept)
	if h.Owner == "" {
		delete(o.Annotations, holderKey)
	}
	if err := o.Set("spec", now); err != nil {
		return nil, err
	}
	return o.Text(name)
}

// take writes a Lease for an owner.
func (s *leases) take(ctx context.Context, name string, read lease, ttl time.Duration, h holder) (left lease, written bool, err error) {
	return s.write(ctx, name, read, spec{
		HolderIdentity: h.Owner, LeaseDurationSeconds: int64(ttl / time.Second),
		AcquireTime: time.Now().UTC().Format(microTime), LeaseTransitions: read.spec.LeaseTransitions + 1,
	}, h)
}

// free writes a Lease without a holder.
func (s *leases) free(ctx context.Context, name string, read lease) (written bool, err error) {
	_, written, err = s.write(ctx, name, read, spec{LeaseDurationSeconds: 1, LeaseTransitions: read.spec.LeaseTransitions}, holder{})
	return written, err
}

// own changes the Lease of an owner as the owner has left it, or as it is by now: an earlier change may not have been
// answered. It reports whether the Lease was the owner's, and returns it as it is then.
func (s *leases) own(ctx context.Context, name string, last lease, owner string, change func(lease) (lease, bool, error)) (left lease, held bool, err error) {
	for {
		left, written, err := change(last)
		if err != nil || written {
			return left, written, err
		}
		if last, err = s.read(ctx, name); err != nil {
			return lease{}, false, err
		}
		if last.spec.HolderIdentity != owner {
			return lease{}, false, nil
		}
	}
}
