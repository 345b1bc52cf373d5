package fencetest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// marksAre opens stores whose marks are, after a restart, what is made of the durable ones.
func marksAre(made func(map[string]fence.Mark) map[string]fence.Mark) func() fencetest.Store {
	return func() fencetest.Store {
		s := newByHand(rule)
		return byWay{byHand: s, way: plain(s), crashed: func() {
			s.marks = made(s.durable)
			s.durable = maps.Clone(s.marks)
		}}
	}
}

func plain(s *byHand) way {
	return func(_ context.Context, op string, c fence.Claim, key, _ string, f func()) error {
		return s.do(op, c, key, f)
	}
}

// inLines writes a line for each mark, with the name before a tab.
func inLines(marks map[string]fence.Mark) map[string]fence.Mark {
	var file strings.Builder
	for scope, m := range marks {
		fmt.Fprintf(&file, "%s\t%d\t%d\t%d\n", scope, m.Token, m.Sequence, m.Shared)
	}
	read := make(map[string]fence.Mark)
	for line := range strings.Lines(file.String()) {
		scope, numbers, _ := strings.Cut(line, "\t")
		var m fence.Mark
		if _, err := fmt.Sscan(numbers, &m.Token, &m.Sequence, &m.Shared); err == nil {
			read[scope] = m
		}
	}
	return read
}

// inJSON writes the marks as a map.
func inJSON(marks map[string]fence.Mark) (read map[string]fence.Mark) {
	text, err := json.Marshal(marks)
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil {
		panic(err)
	}
	return read
}

// merging opens stores in whose files the names have no case. Which of two marks a file then has, says higher.
func merging(higher bool) func() fencetest.Store {
	return marksAre(func(marks map[string]fence.Mark) map[string]fence.Mark {
		files, read := make(map[string]fence.Mark), make(map[string]fence.Mark)
		for scope, m := range marks {
			file := strings.ToLower(scope)
			if there, is := files[file]; !is || (m.Token > there.Token) == higher {
				files[file] = m
			}
		}
		for scope := range marks {
			read[scope] = files[strings.ToLower(scope)]
		}
		return read
	})
}

// ofKeys is a store whose durable marks are, for each key, that of its last scope.
func ofKeys() fencetest.Store {
	type row struct {
		scope string
		mark  fence.Mark
	}
	s, rows := newByHand(rule), make(map[string]row)
	s.keep = func(r request) fence.Mark {
		m := kept(r)
		if r.err == nil {
			rows[r.key] = row{r.claim.Scope, m}
		}
		return m
	}
	return byWay{byHand: s, way: plain(s), crashed: func() {
		clear(s.marks)
		for _, r := range rows {
			s.marks[r.scope] = s.marks[r.scope].Max(r.mark)
		}
	}}
}

// logs is a store that keeps a line of each request, and makes data and marks of the lines after a restart.
func logs(line func(op string, c fence.Claim, key, value string) string, read func(line string) (op string, c fence.Claim, key, value string, ok bool)) func() fencetest.Store {
	return func() fencetest.Store {
		s := newByHand(rule)
		var log strings.Builder
		logged := func(_ context.Context, op string, c fence.Claim, key, value string, f func()) error {
			return s.do(op, c, key, func() { log.WriteString(line(op, c, key, value) + "\n"); f() })
		}
		return byWay{byHand: s, way: logged, crashed: func() {
			clear(s.marks)
			clear(s.data)
			for lines := bufio.NewScanner(strings.NewReader(log.String())); lines.Scan(); {
				op, c, key, value, ok := read(lines.Text())
				next, err := s.marks[c.Scope].Admit(c)
				if !ok || err != nil {
					continue
				}
				if s.marks[c.Scope] = next.Done(c); op == write {
					s.data[key] = value
				} else if op == remove {
					delete(s.data, key)
				}
			}
		}}
	}
}

// asTheyAre has lines with values as they are.
func asTheyAre() func() fencetest.Store {
	const of = "%s %q %d %d %d %q"
	return logs(func(op string, c fence.Claim, key, value string) string {
		return fmt.Sprintf(of+" %s", op, c.Scope, c.Token, c.Sequence, c.Mode, key, value)
	}, func(line string) (op string, c fence.Claim, key, value string, ok bool) {
		n, _ := fmt.Sscanf(line, of, &op, &c.Scope, &c.Token, &c.Sequence, &c.Mode, &key)
		value = strings.TrimPrefix(line, fmt.Sprintf(of+" ", op, c.Scope, c.Token, c.Sequence, c.Mode, key))
		return op, c, key, value, n == 6
	})
}

// quoted has lines with values in quotes, and is read up to the first line that is too long.
func quoted() func() fencetest.Store {
	const of = "%s %q %d %d %d %q %q"
	return logs(func(op string, c fence.Claim, key, value string) string {
		return fmt.Sprintf(of, op, c.Scope, c.Token, c.Sequence, c.Mode, key, value)
	}, func(line string) (op string, c fence.Claim, key, value string, ok bool) {
		n, _ := fmt.Sscanf(line, of, &op, &c.Scope, &c.Token, &c.Sequence, &c.Mode, &key, &value)
		return op, c, key, value, n == 7
	})
}

// halfDurable is a store in which what remains of a failed operation is durable, and its mark is not.
type halfDurable struct{ byWay }

func newHalfDurable() fencetest.Store {
	s := newByHand(rule)
	return halfDurable{byWay{byHand: s, way: plain(s)}}
}

func (s halfDurable) crash() fencetest.Store { s.byWay.crash(); return s }

func (s halfDurable) fail(c fence.Claim, key, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next, err := s.marks[c.Scope].Admit(c)
	if err != nil {
		return err
	}
	s.marks[c.Scope], s.data[key] = next, value
	return errHalfDone
}

func brokenRestarts() []broken {
	return []broken{
		{
			name:   "marks are in lines, and a tab ends the name",
			open:   marksAre(inLines),
			caught: []string{"RestartKeepsScopesApart"},
		},
		{
			name:   "marks are in JSON, where names are UTF-8",
			open:   marksAre(inJSON),
			caught: []string{"RestartKeepsScopesApart"},
		},
		{
			name:   "marks are in files whose names have no case, and the higher one counts",
			open:   merging(true),
			caught: []string{"RestartKeepsScopesApart"},
		},
		{
			name:   "marks are in files whose names have no case, and the lower one counts",
			open:   merging(false),
			caught: []string{"RestartKeepsScopesApart"},
		},
		{
			name:   "a key keeps the mark of its last scope over a restart",
			open:   ofKeys,
			caught: []string{"KeyHasNoMark"},
		},
		{
			name:   "a log has lines with values as they are",
			open:   asTheyAre(),
			caught: []string{"RestartKeepsEveryMark"},
		},
		{
			name:   "a log is read up to a line that is too long",
			open:   quoted(),
			caught: []string{"RestartKeepsEveryMark"},
		},
		{
			name:   "what remains of a failed operation is durable, and its mark is not",
			open:   newHalfDurable,
			caught: []string{"FailureKeepsMark"},
		},
	}
}

func TestStoresBrokenByRestartsAreCaught(t *testing.T) {
	for _, tt := range brokenRestarts() {
		t.Run(tt.name, func(t *testing.T) { mustBeCaught(t, tt.subject(), tt) })
	}
}
