package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"log/slog"
	"net/http"
	"strings"
)

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

// Load reads a tokens file. An error names file, line and column. Nil log:
// changes of the file are not logged.
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
