package laws_test

import (
	"bytes"
	"cmp"
	"encoding/gob"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// tiny is a fenced storage as small as it can be. Each hole replaces one thing.
type tiny struct {
	mu    sync.Mutex
	state state
	file  string // "": in memory

	token     func(text string) (uint64, bool) // how a token is read
	stale     func(token, mark uint64) bool
	scope     func(scope, key string) string                                        // what a mark is kept under
	noScope   string                                                                // what a request without a scope is of; "": its key
	keep      func(token, mark uint64, method string, key bool) uint64              // the mark after an admitted request
	refuse    func(w http.ResponseWriter, s *tiny, key, value string, token uint64) // how a stale request is answered
	unchecked func(r *http.Request) bool                                            // who need not show a token
	split     func() bool                                                           // whether something may happen between check and operation
	atWork    atomic.Int32                                                          // requests that are under way
	early     func(r *http.Request) bool                                            // whether the check comes before the body
	first     func(w http.ResponseWriter, r *http.Request) bool                     // what is done with a request first of all, and whether it is answered
	volatile  bool                                                                  // a restart keeps the data alone
	late      time.Duration                                                         // after which a change is in the file
}

type state struct {
	Data  map[string]string
	Marks map[string]uint64
}

var number = regexp.MustCompile(`^[1-9][0-9]{0,18}$`)

func newTiny(change func(*tiny)) *tiny {
	s := &tiny{
		state: state{make(map[string]string), make(map[string]uint64)},
		token: func(text string) (uint64, bool) {
			n, err := strconv.ParseInt(text, 10, 64)
			return uint64(n), err == nil && number.MatchString(text)
		},
		stale: func(token, mark uint64) bool { return token < mark },
		scope: func(scope, _ string) string { return scope },
		keep:  func(token, _ uint64, _ string, _ bool) uint64 { return token },
		refuse: func(w http.ResponseWriter, _ *tiny, _, _ string, _ uint64) {
			w.WriteHeader(http.StatusPreconditionFailed)
		},
		unchecked: func(r *http.Request) bool { return r.Method == http.MethodGet },
		split:     func() bool { return false },
		early:     func(*http.Request) bool { return false },
		first:     func(http.ResponseWriter, *http.Request) bool { return false },
	}
	if change != nil {
		change(s)
	}
	return s
}

func (s *tiny) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.atWork.Add(1)
	defer s.atWork.Add(-1)
	if s.first(w, r) {
		return
	}
	escaped, ok := strings.CutPrefix(r.URL.EscapedPath(), "/v1/kv/")
	key, err := url.PathUnescape(escaped)
	if !ok || err != nil || r.URL.RawQuery != "" {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodPut && r.Method != http.MethodDelete {
		http.Error(w, "no such method", http.StatusMethodNotAllowed)
		return
	}
	scope := cmp.Or(s.noScope, key)
	if given := r.Header.Values("Fencing-Scope"); len(given) > 0 {
		scope = given[0]
	}
	scope = s.scope(scope, key)
	var value []byte
	early := s.early(r)
	if !early {
		value, _ = io.ReadAll(r.Body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if given := r.Header.Values("Fencing-Token"); len(given) > 0 {
		token, ok := s.token(strings.Join(given, ", ")) // two are no number
		if !ok {
			http.Error(w, "this is no token", http.StatusBadRequest)
			return
		}
		_, there := s.state.Data[key]
		mark := s.state.Marks[scope]
		if s.stale(token, mark) {
			s.refuse(w, s, key, string(value), token)
			return
		}
		s.state.Marks[scope] = s.keep(token, mark, r.Method, there)
	} else if !s.unchecked(r) {
		http.Error(w, "want a token", http.StatusPreconditionRequired)
		return
	}
	if s.split() {
		s.mu.Unlock()
		time.Sleep(rand.N(time.Millisecond)) // time for somebody else
		s.mu.Lock()
	}
	if early {
		s.mu.Unlock()
		value, _ = io.ReadAll(r.Body)
		s.mu.Lock()
	}
	s.operate(w, r.Method, key, string(value))
}

func (s *tiny) operate(w http.ResponseWriter, method, key, value string) {
	old, there := s.state.Data[key]
	switch {
	case method == http.MethodPut:
		s.state.Data[key] = value
		w.WriteHeader(http.StatusNoContent)
	case method == http.MethodDelete:
		delete(s.state.Data, key)
		w.WriteHeader(http.StatusNoContent)
	case !there:
		http.Error(w, "no such key", http.StatusNotFound)
	default:
		fmt.Fprint(w, old)
	}
	s.save()
}

// save keeps what a kill leaves. Nothing here is to outlive the machine.
func (s *tiny) save() {
	if s.file == "" {
		return
	}
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(s.state) // in JSON names would become UTF-8
	if s.late > 0 {
		time.AfterFunc(s.late, func() { _ = os.WriteFile(s.file, b.Bytes(), 0o600) })
		return
	}
	if err == nil {
		err = os.WriteFile(s.file+".new", b.Bytes(), 0o600)
	}
	if err == nil {
		err = os.Rename(s.file+".new", s.file)
	}
	if err != nil {
		panic(err)
	}
}

// load goes on with what is in dir.
func (s *tiny) load(dir string) error {
	s.file = filepath.Join(dir, "state")
	b, err := os.ReadFile(s.file)
	if os.IsNotExist(err) {
		return nil
	}
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(b)).Decode(&s.state)
	}
	if s.volatile {
		clear(s.state.Marks)
	}
	return err
}
