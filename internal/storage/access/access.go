// Package access says who may reach the storage, and do what there: bearer tokens with rights (Policy), TLS with
// certificates that are re-read (ServerTLS, ClientTLS), and which addresses may be served without them (CheckListen).
//
// A bearer token and a fencing token have nothing but the word in common. A fencing token orders requests and
// permits nothing: anyone can make one up. A bearer token permits requests and orders nothing: a client that
// holds one, and has lost its lock, is as stale as any other.
package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
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

// covers: a prefix whose end is no letter and no digit, like "/orders/" or "orders:", covers all that begins with it.
// Another, like "/orders", covers that name and what is below it, "/orders/7", but not its neighbour "/orders-eu".
func covers(prefix, name string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return false
	}
	end, _ := utf8.DecodeLastRuneInString(prefix)
	return rest == "" || rest[0] == '/' || !unicode.IsLetter(end) && !unicode.IsDigit(end)
}

// Policy says who may do what, by a tokens file:
//
//	tokens:
//	  - name: orders-service       # for logs
//	    sha256: 9b8ae25c…          # of the secret, 64 hex digits; a list of them is possible
//	    rights: [read, write]      # and observe, admin
//	    scopes: ["/orders/"]       # prefixes of the names of locks; left out: all
//	    keys: ["orders/"]          # prefixes of keys; left out: all
//
// To change a secret without a gap, list the hashes of the old one and the new
// one, until all clients have the new one.
//
// The file holds no secrets: from the hash of a secret that Generate made,
// nobody can find the secret. So others may read it. Who can write it can do all.
//
// A changed file is in force a second after, for the next request, on connections that are open too. If it
// cannot be understood, the policy stays as it was and an error is logged. So replace it in one step, with
// mv: half a file may be a valid one.
//
// A nil Policy lets everyone do everything.
type Policy struct{ tokens *watched[[]entry] }

// entry is a hash of a secret, and whose it is.
type entry struct {
	hash  [sha256.Size]byte
	owner *Principal
}

// Load reads a tokens file. An error names file, line and column. Nil log: changes of the file are not logged.
func Load(path string, log *slog.Logger) (*Policy, error) {
	w, err := watch(log, func(contents [][]byte) (*[]entry, error) {
		list, err := parseTokens(path, contents[0])
		return &list, err
	}, path)
	if err != nil {
		return nil, err
	}
	return &Policy{w}, nil
}

// Authenticate says who makes a request, or an ErrUnauthenticated. It looks at
// the header Authorization only: a secret in a URL ends up in logs.
func (p *Policy) Authenticate(r *http.Request) (*Principal, error) {
	if p == nil {
		return everyone, nil
	}
	secret, err := bearer(r.Header)
	if err != nil {
		return nil, err
	}
	who := find(*p.tokens.get(), sha256.Sum256([]byte(secret)), subtle.ConstantTimeCompare)
	if who == nil {
		return nil, &refusal{ErrUnauthenticated, "invalid_token", "the bearer token is not known here"}
	}
	return who, nil
}

// find compares all entries, also after one that is equal: the time that it takes tells nothing.
func find(list []entry, hash [sha256.Size]byte, equal func(a, b []byte) int) *Principal {
	found := -1
	for i := range list {
		found = subtle.ConstantTimeSelect(equal(list[i].hash[:], hash[:]), i, found)
	}
	if found < 0 {
		return nil
	}
	return list[found].owner
}

// bearer is the secret in the header Authorization, by RFC 6750, section 2.1.
// Its errors do not repeat what the header holds.
func bearer(h http.Header) (string, error) {
	values := h["Authorization"]
	if len(values) == 0 {
		return "", &refusal{ErrUnauthenticated, "", "want the header \"Authorization: Bearer SECRET\""}
	}
	if len(values) > 1 {
		return "", &refusal{ErrUnauthenticated, "invalid_token", "the header Authorization is given twice"}
	}
	scheme, secret, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", &refusal{ErrUnauthenticated, "", "the header Authorization is of another scheme, want Bearer"}
	}
	secret = strings.TrimLeft(secret, " ")
	body := strings.TrimRight(secret, "=")
	if body == "" || strings.Trim(body, inToken) != "" {
		return "", &refusal{ErrUnauthenticated, "invalid_token", "after \"Bearer \" want a secret of letters, digits and -._~+/, with = only at its end"}
	}
	return secret, nil
}

// inToken are the characters of a secret, beside those at its end.
const inToken = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/"

// Generate makes a secret of 256 random bits, for a client to keep, and its hash, for the tokens file.
func Generate() (secret, hash string) {
	var b [32]byte
	rand.Read(b[:]) // never fails: it ends the process instead
	secret = base64.RawURLEncoding.EncodeToString(b[:])
	sum := sha256.Sum256([]byte(secret))
	return secret, hex.EncodeToString(sum[:])
}
