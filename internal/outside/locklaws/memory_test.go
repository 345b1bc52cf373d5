package locklaws_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// memory is a lock service as small as it can be. Each flaw replaces one thing.
type memory struct {
	mu    sync.Mutex
	state state
	file  string

	mute      bool
	renews    bool
	noTokens  bool
	late      time.Duration                                      // after an answer, in which a line is written
	next      func(last int64) int64                             // the token after another one
	lease     func(asked time.Duration) time.Duration            // how long a lease lasts
	cause     func(cause string) string                          // that a line names
	unlocks   func(l *hold, owner string) (frees, released bool) // what an unlock does, and says
	refused   func(m *memory, scope, owner string)               // what is done beside a refusal
	grants    func(m *memory, scope, owner string)               // what is done beside a grant
	renewal   func(l *hold, owner string) (longer, renewed bool) // what a renewal does, and says
	others    func(l *hold) bool                                 // whether a lock that is held is granted to others
	silent    func(kind string) bool                             // whether there is no line
	lineToken func(token int64) int64                            // that a line names
	lazy      bool                                               // it looks at leases when somebody asks
	forgets   bool                                               // a restart begins anew
	queue     map[string]string                                  // scope → who is granted the lock when it is free
}

type state struct {
	Token int64
	Held  map[string]*hold
}

type hold struct {
	Owner string
	Until time.Time
}

func newMemory(flaw func(*memory)) *memory {
	m := &memory{
		state: state{Held: make(map[string]*hold)}, renews: true, queue: make(map[string]string),
		next:  func(last int64) int64 { return last + 1 },
		lease: func(asked time.Duration) time.Duration { return asked }, cause: func(cause string) string { return cause },
		unlocks: func(l *hold, owner string) (bool, bool) { is := l != nil && l.Owner == owner; return is, is },
		renewal: func(l *hold, owner string) (bool, bool) { is := l != nil && l.Owner == owner; return is, is },
		refused: func(*memory, string, string) {}, grants: func(*memory, string, string) {},
		others:    func(*hold) bool { return false },
		silent:    func(string) bool { return false },
		lineToken: func(token int64) int64 { return token },
	}
	if flaw != nil {
		flaw(m)
	}
	return m
}

// serve answers at an address, and keeps its state in a directory.
func (m *memory) serve(addr, dir string) error {
	m.file = filepath.Join(dir, "state")
	if text, err := os.ReadFile(m.file); err == nil && !m.forgets {
		if err := json.Unmarshal(text, &m.state); err != nil {
			return err
		}
	}
	for scope, l := range m.state.Held {
		m.expire(scope, l)
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				fmt.Fprintln(conn, m.answer(strings.Fields(lines.Text())))
			}
		}()
	}
}

func (m *memory) answer(words []string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(words) < 4 {
		words = append(words, "")
	}
	scope, owner := words[1], words[2]
	ms, _ := strconv.Atoi(words[3])
	ttl := m.lease(time.Duration(ms) * time.Millisecond)
	if l := m.state.Held[scope]; m.lazy && l != nil && time.Now().After(l.Until) {
		m.end(scope, "expired")
	}
	l := m.state.Held[scope]
	switch {
	case m.mute:
		return "what?"
	case words[0] == "lock" && l != nil && !m.others(l):
		m.refused(m, scope, owner)
		return "held"
	case words[0] == "lock":
		if l != nil {
			m.end(scope, "revoked")
		}
		m.grant(scope, owner, ttl)
		m.grants(m, scope, owner)
		if m.noTokens {
			return "granted"
		}
		return fmt.Sprint("granted ", m.state.Token)
	case words[0] == "renew" && m.renews:
		longer, renewed := m.renewal(l, owner)
		if longer {
			l.Until = time.Now().Add(ttl)
			m.keep()
		}
		return map[bool]string{true: "renewed", false: "gone"}[renewed]
	case words[0] == "unlock":
		frees, released := m.unlocks(l, owner)
		if frees && l != nil {
			m.end(scope, "released")
		}
		return map[bool]string{true: "released", false: "gone"}[released]
	}
	return "what?"
}

func (m *memory) grant(scope, owner string, ttl time.Duration) {
	m.state.Token = m.next(m.state.Token)
	l := &hold{owner, time.Now().Add(ttl)}
	m.state.Held[scope] = l
	m.keep()
	m.say("granted", scope, owner, "")
	m.expire(scope, l)
}

// expire ends a lease in its time, unless it is renewed.
func (m *memory) expire(scope string, l *hold) {
	if m.lazy {
		return
	}
	time.AfterFunc(time.Until(l.Until), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		switch {
		case m.state.Held[scope] != l:
		case time.Now().Before(l.Until):
			m.expire(scope, l)
		default:
			m.end(scope, "expired")
		}
	})
}

func (m *memory) end(scope, cause string) {
	l := m.state.Held[scope]
	delete(m.state.Held, scope)
	m.keep()
	m.say("ended", scope, l.Owner, cause)
	if next := m.queue[scope]; next != "" {
		delete(m.queue, scope)
		m.grant(scope, next, time.Second)
	}
}

func (m *memory) keep() {
	text, err := json.Marshal(m.state)
	if err == nil {
		err = os.WriteFile(m.file+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(m.file+".new", m.file)
	}
	if err != nil {
		panic(err)
	}
}

// word is a line.
type word struct {
	At     int64  `json:"at"`
	Kind   string `json:"kind"`
	Scope  string `json:"scope"`
	Tenure string `json:"tenure"`
	Token  string `json:"token,omitempty"`
	Cause  string `json:"cause,omitempty"`
}

func (m *memory) say(kind, scope, tenure, cause string) {
	if m.silent(kind) {
		return
	}
	w := word{At: time.Now().UnixNano(), Kind: kind, Scope: scope, Tenure: tenure, Cause: m.cause(cause)}
	if kind == "granted" && !m.noTokens {
		w.Token = fmt.Sprint(m.lineToken(m.state.Token))
	}
	line, err := json.Marshal(w)
	if err != nil {
		panic(err)
	}
	print := func() { fmt.Println(string(line)) }
	if m.late == 0 {
		print()
		return
	}
	time.AfterFunc(m.late, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		print()
	})
}
