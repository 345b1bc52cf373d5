package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

const (
	PathKV    = "/v1/kv/"
	PathBatch = "/v1/batch"
)

const headerRequestID = "X-Request-Id"

// Prefixed is a scope or a key below a prefix. Slashes stay in front: a storage may take them off.
func Prefixed(prefix, name string) string {
	rest := strings.TrimLeft(name, "/")
	return name[:len(name)-len(rest)] + prefix + rest
}

// request is one of a client's, and what of it goes on to the storage.
type request struct {
	asked   history.Event // as in the account, but for what came of it
	changes []history.Change

	method, path string
	header       http.Header
	length       int64 // of the body, if that is known before it comes; else 0
	prefix       string
	contrib      bool   // it goes on in contrib/lock's form
	body         string // in that form
}

// parse reads all of a request but its body. An error is a refusal.
func (g *Gate) parse(r *http.Request) (*request, error) {
	q := &request{method: r.Method, prefix: g.Prefix, header: make(http.Header)}
	path := r.URL.EscapedPath()
	escaped, ofKey := strings.CutPrefix(path, PathKV)
	key, err := url.PathUnescape(escaped)
	ops := map[string]string{http.MethodGet: history.OpRead, http.MethodPut: history.OpWrite, http.MethodDelete: history.OpDelete}
	switch {
	case err != nil:
		return nil, err
	case ofKey && ops[r.Method] != "":
		q.asked.Op, q.asked.Key = ops[r.Method], key
		q.path, q.length = PathKV+url.PathEscape(Prefixed(q.prefix, key)), max(r.ContentLength, 0)
	case path == PathBatch && r.Method == http.MethodPost:
		q.asked.Op, q.path = history.OpChange, PathBatch
		q.header.Set("Content-Type", "application/json")
	default:
		return nil, fmt.Errorf("no client of a scenario asks for %s %s", r.Method, path)
	}
	claim, err := fencehttp.ParseClaim(r.Header, key)
	if err != nil {
		return nil, err
	}
	q.asked.Request, q.asked.Scope, q.asked.Token, q.asked.Sequence, q.asked.Mode = r.Header.Get(headerRequestID), claim.Scope, claim.Token, claim.Sequence, claim.Mode
	if claim.Scope = ""; r.Header.Get(fencehttp.HeaderScope) != "" {
		claim.Scope = Prefixed(q.prefix, q.asked.Scope)
	}
	fencehttp.SetClaim(q.header, claim)
	if g.Contrib {
		return q, q.toContrib()
	}
	return q, nil
}

func (q *request) String() string {
	text := strings.TrimSpace(q.method + " " + q.path + " " + Shown(q.body))
	for _, name := range []string{fencehttp.HeaderScope, fencehttp.HeaderToken, fencehttp.HeaderSequence, fencehttp.HeaderMode} {
		if value := q.header.Get(name); value != "" {
			text += ", " + name + ": " + value
		}
	}
	return text
}

// read reads the body and returns the one that the storage gets.
func (q *request) read(in io.Reader) (string, error) {
	body, err := io.ReadAll(in)
	if err != nil || q.asked.Op != history.OpChange {
		q.asked.Value = string(body)
		if err == nil && q.contrib {
			return q.contribBody()
		}
		return string(body), err
	}
	var of struct { // of several keys
		Ops []struct {
			Op  string `json:"op"`
			Key string `json:"key"`
			Val string `json:"val"`
		} `json:"ops"`
	}
	if err := json.Unmarshal(body, &of); err != nil {
		return "", err
	}
	for i, op := range of.Ops {
		if op.Op != history.OpWrite {
			return "", fmt.Errorf("no client of a scenario asks for a batch with a %s", op.Op)
		}
		q.changes = append(q.changes, history.Change{Key: op.Key, Value: op.Val})
		of.Ops[i].Key = Prefixed(q.prefix, op.Key)
	}
	body, err = json.Marshal(of)
	return string(body), err
}

// events are the account of the request, with what became of it: of several keys an event for each.
func (q *request) events(done history.Event) []history.Event {
	done.Lane, done.At = history.LaneStorage, time.Duration(time.Now().UnixNano())
	return done.EachKey(q.changes)
}

// meaning is the request with what an answer says of it. The error says that it says nothing.
func (q *request) meaning(a Answer) (done history.Event, err error) {
	done = q.asked
	reads, token := q.asked.Op == history.OpRead, q.asked.Token
	switch {
	case a.Status >= 500:
		done.Kind, done.Text = history.KindUnanswered, fmt.Sprintf("it answered %v, which leaves open what became of the request", a)
	case q.contrib:
		return q.contribMeaning(a)
	case a.OK() && reads:
		done.Kind, done.Value = history.KindApplied, a.Body
	case a.OK() && a.Header.Get(fencehttp.HeaderDuplicate) == "true":
		done.Kind = history.KindDuplicate
	case a.OK(), a.Status == http.StatusNotFound && q.method == http.MethodDelete: // there was nothing to delete
		done.Kind = history.KindApplied
	case a.Status == http.StatusNotFound && reads:
		done.Kind, done.Missing = history.KindApplied, true
	case a.Status == http.StatusPreconditionFailed && token != 0:
		done.Kind, done.Reason = history.KindRefused, string(fencehttp.ReasonStale)
		if stale := a.Stale(); stale != nil {
			done.Mark = max(stale.Mark, 0)
		}
	case a.Refused() && token == 0 && !reads:
		done.Kind, done.Reason = history.KindRefused, string(fencehttp.ReasonMissing)
	case a.Status == http.StatusUnprocessableEntity && token != 0:
		done.Kind, done.Reason = history.KindRefused, string(fencehttp.ReasonAhead)
	default:
		want := "200 to 299, or 412 where the token is stale"
		if reads {
			want += ", or 404 where there is no such key"
		}
		err = fmt.Errorf("answered %v, want %s (asked: %s)", a, want, q)
	}
	return done, err
}

// answer tells the client what became of the request, as a storage of ours does.
func (q *request) answer(w http.ResponseWriter, done history.Event) {
	switch {
	case done.Kind == history.KindUnanswered:
		http.Error(w, done.Text, http.StatusBadGateway)
	case done.Kind == history.KindRefused:
		refuse(w, q.refusal(done))
	case done.Missing:
		http.Error(w, "no such key", http.StatusNotFound)
	case q.asked.Op == history.OpRead:
		_, _ = io.WriteString(w, done.Value) // a client that has hung up gets no answer
	default:
		if done.Kind == history.KindDuplicate {
			w.Header().Set(fencehttp.HeaderDuplicate, "true")
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

func (q *request) refusal(done history.Event) error {
	switch fencehttp.Reason(done.Reason) {
	case fencehttp.ReasonMissing:
		return fence.ErrNoToken
	case fencehttp.ReasonAhead:
		return &fence.AheadError{Scope: q.asked.Scope, Token: q.asked.Token}
	}
	return &fence.StaleError{Scope: q.asked.Scope, Token: q.asked.Token, Mark: done.Mark, Sequence: q.asked.Sequence}
}

// refuse answers a client with an error that is no fault of the storage's.
func refuse(w http.ResponseWriter, err error) {
	if p, is := fencehttp.NewProblem(err); is {
		p.Write(w)
		return
	}
	http.Error(w, err.Error(), http.StatusBadRequest)
}

// ContribRequest is the body in the protocol of etcd's contrib/lock, POST /. A key is its own scope, nothing is
// deleted, and the version of a read means nothing.
type ContribRequest struct {
	Op      string      `json:"op"` // read or write
	Key     string      `json:"key"`
	Val     string      `json:"val"`
	Version fence.Token `json:"version"`
}

type ContribAnswer struct {
	Val     string      `json:"val"`
	Version fence.Token `json:"version"`
	Err     *string     `json:"err"` // "": it was done
}

func ParseContrib(a Answer) (said ContribAnswer, err error) {
	if err = json.Unmarshal([]byte(a.Body), &said); err == nil && said.Err == nil {
		err = errors.New("it has no member err")
	}
	return said, err
}

// Stale reports whether the answer to a write refuses its version.
func (c ContribAnswer) Stale() bool { return strings.Contains(*c.Err, "version") }

func (q *request) toContrib() error {
	if q.asked.Op != history.OpRead && q.asked.Op != history.OpWrite {
		return fmt.Errorf("contrib/lock's protocol has no %s", q.asked.Op)
	}
	q.contrib, q.method, q.path, q.length = true, http.MethodPost, "/", 0
	q.header = http.Header{"Content-Type": {"application/json"}}
	return nil
}

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

// contribMeaning is meaning for contrib/lock's form. A key that has no value is not there.
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
