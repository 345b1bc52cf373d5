package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// ContribRequest is the body of a request in the protocol of etcd's contrib/lock: POST /. A key
// is its own scope there, nothing is deleted, and the version of a read means nothing.
type ContribRequest struct {
	Op      string      `json:"op"` // read or write
	Key     string      `json:"key"`
	Val     string      `json:"val"`
	Version fence.Token `json:"version"`
}

// ContribAnswer is the body of an answer.
type ContribAnswer struct {
	Val     string      `json:"val"`
	Version fence.Token `json:"version"`
	Err     *string     `json:"err"` // "": it was done
}

// ParseContrib reads an answer of that form.
func ParseContrib(a Answer) (said ContribAnswer, err error) {
	if err = json.Unmarshal([]byte(a.Body), &said); err == nil && said.Err == nil {
		err = errors.New("it has no member err")
	}
	return said, err
}

// Stale reports whether the answer to a write refuses its version.
func (c ContribAnswer) Stale() bool { return strings.Contains(*c.Err, "version") }

// toContrib has the request go on in contrib/lock's form.
func (q *request) toContrib() error {
	if q.asked.Op != history.OpRead && q.asked.Op != history.OpWrite {
		return fmt.Errorf("contrib/lock's protocol has no %s", q.asked.Op)
	}
	q.contrib, q.method, q.path, q.length = true, http.MethodPost, "/", 0
	q.header = http.Header{"Content-Type": {"application/json"}}
	return nil
}

// contribBody is the body that the storage gets.
func (q *request) contribBody() (string, error) {
	if !utf8.ValidString(q.asked.Key + q.asked.Value) {
		return "", errors.New("contrib/lock's protocol carries nothing but UTF-8")
	}
	out := ContribRequest{Op: q.asked.Op, Key: Prefixed(q.prefix, q.asked.Key), Val: q.asked.Value}
	if q.asked.Op == history.OpWrite {
		out.Version = q.asked.Token
	}
	body, err := json.Marshal(out)
	q.body = string(body)
	return q.body, err
}

// contribMeaning is as meaning, of an answer of contrib/lock's form. A key that has no value is
// not there.
func (q *request) contribMeaning(a Answer) (done history.Event, err error) {
	done = q.asked
	reads := q.asked.Op == history.OpRead
	said, err := ParseContrib(a)
	switch {
	case err != nil || !a.OK():
	case reads:
		done.Kind, done.Value, done.Missing = history.KindApplied, said.Val, said.Val == ""
		return done, nil
	case *said.Err == "":
		done.Kind = history.KindApplied
		return done, nil
	case q.asked.Token == 0:
		done.Kind, done.Reason = history.KindRefused, string(fencehttp.ReasonMissing)
		return done, nil
	case said.Stale():
		done.Kind, done.Reason = history.KindRefused, string(fencehttp.ReasonStale)
		return done, nil
	}
	return done, fmt.Errorf("answered %v, want a status of 200 to 299, and JSON with val, version and err, which names the version where that is stale (asked: %s)", a, q)
}
