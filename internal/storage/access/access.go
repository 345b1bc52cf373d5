// Package access says who may reach the storage, and do what there: bearer tokens with rights (Policy), TLS
// with certificates that are re-read (ServerTLS, ClientTLS), and which addresses may be served without them
// (CheckListen).
//
// A bearer token and a fencing token have nothing but the word in common. A fencing token orders requests and
// permits nothing: anyone can make one up. A bearer token permits requests and orders nothing: a client that
// holds one, and has lost its lock, is as stale as any other.
package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Right is a kind of thing that a principal may do. None includes another.
type Right string

const (
	Read    Right = "read"    // values and marks
	Write   Right = "write"   // values; and whatever raises a mark, so a read that carries a fencing token too
	Observe Right = "observe" // metrics, which name scopes
	Admin   Right = "admin"   // what concerns the whole storage: snapshots, floors, profiles
)

var rights = []Right{Read, Write, Observe, Admin}

// ErrUnauthenticated is an answer 401: nobody knows who asks. The request was not done.
var ErrUnauthenticated = fence.Definite.New("access: unauthenticated")

// ErrForbidden is an answer 403: it is known who asks, and that they may not. The request was not done.
var ErrForbidden = fence.Definite.New("access: forbidden")

type refusal struct {
	kind error
	code string // of RFC 6750, section 3.1; empty where no token was shown
	text string
}

func (r *refusal) Error() string { return r.kind.Error() + ": " + r.text }
func (r *refusal) Unwrap() error { return r.kind }

// Challenge is the value of the header WWW-Authenticate that belongs to an
// ErrUnauthenticated or ErrForbidden, by RFC 6750, section 3; "" for other errors.
func Challenge(err error) string {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		return ""
	}
	c := `Bearer realm="storage"`
	if r.code != "" {
		c += `, error="` + r.code + `"`
	}
	return c
}

// Principal is who asks. A nil one may do nothing.
type Principal struct {
	name   string
	rights []Right
	scopes []string // prefixes; nil: all
	keys   []string // prefixes; nil: all
}

// everyone is the principal of a storage that has no policy.
var everyone = &Principal{name: "everyone", rights: rights}

// Name is the principal's name in the tokens file, for logs; not secret.
func (p *Principal) Name() string {
	if p == nil {
		return "nobody"
	}
	return p.name
}

// May is nil where the principal has a right on a scope and on each of the keys,
// or an ErrForbidden that says what is lacking.
//
// The scope is the lock's name, or "" for an operation that looks at no lock: a
// read without a fencing token, or one of Admin. A write always has a scope.
func (p *Principal) May(right Right, scope string, keys ...string) error {
	if p == nil {
		return forbidden(p, right, "nobody has asked")
	}
	if !slices.Contains(p.rights, right) {
		return forbidden(p, right, fmt.Sprintf("it needs the right %q", right))
	}
	if (scope != "" || right == Write) && !covered(p.scopes, scope) {
		return forbidden(p, right, fmt.Sprintf("the scope %.100q is none of its scopes", scope))
	}
	for _, key := range keys {
		if !covered(p.keys, key) {
			return forbidden(p, right, fmt.Sprintf("the key %.100q is none of its keys", key))
		}
	}
	return nil
}

func forbidden(p *Principal, right Right, lacking string) error {
	return &refusal{ErrForbidden, "insufficient_scope", fmt.Sprintf("%s may not %s that: %s", p.Name(), right, lacking)}
}

// covered is whether one of the prefixes covers name. Nil covers all.
func covered(prefixes []string, name string) bool {
	return prefixes == nil || slices.ContainsFunc(prefixes, func(prefix string) bool { return covers(prefix, name) })
}

// covers: a prefix whose end is no letter and no digit, like "/orders/" or
// "orders:", covers all that begins with it. Another, like "/orders", covers that
// name and what is below it, "/orders/7", but not its neighbour "/orders-eu".
func covers(prefix, name string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return false
	}
	end, _ := utf8.DecodeLastRuneInString(prefix)
	return rest == "" || rest[0] == '/' || !unicode.IsLetter(end) && !unicode.IsDigit(end)
}
