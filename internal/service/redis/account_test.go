package redis

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// listener is a run that hears of one lock.
type listener struct {
	service.Stage
	told []string
}

func (*listener) Plan() service.Plan { return service.Plan{Locks: []string{"/l"}} }

func (l *listener) Tell(events ...history.Event) {
	for _, e := range events {
		l.hear(e)
	}
}

func (l *listener) hear(e history.Event) {
	text := fmt.Sprintf("%s %s", e.Kind, e.Tenure)
	if e.Token != 0 {
		text += " token " + e.Token.String()
	}
	if e.Mode == fence.Shared {
		text += " shared"
	}
	if e.Cause != "" {
		text += " " + e.Cause
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	l.told = append(l.told, text)
}

// TestAccount: what transactions of nodes' streams mean. A word before a | is the number of
// the node.
func TestAccount(t *testing.T) {
	later := fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())
	for name, tt := range map[string]struct {
		nodes   int
		stream  []string
		account string
	}{
		"a string": {1, []string{"SET /l a PXAT 1", "DEL /l", "SET /l b PXAT " + later, "DEL /l"},
			"granted a, ended a, granted b, ended b revoked"},
		"no time to live":           {1, []string{"SETNX /l a", "DEL /l"}, "granted a, ended a revoked"},
		"a time to live afterwards": {1, []string{"SETNX /l a", "PEXPIREAT /l 1", "DEL /l"}, "granted a, ended a"},
		"a renewal":                 {1, []string{"SET /l a PXAT 1", "PEXPIREAT /l " + later, "DEL /l"}, "granted a, ended a revoked"},
		"one after the other at once": {1, []string{"SET /l a PXAT 1", "DEL /l; SET /l b PXAT 1"},
			"granted a, ended a, granted b"},
		"once more by the same": {1, []string{"SET /l a PXAT 1", "DEL /l", "SET /l a PXAT 1"}, "granted a, ended a, granted a~2"},
		"a token of the same step": {1, []string{"SET /l a PXAT 1; INCR fencelab_token:{/l}", "DEL /l", "SET /l b PXAT 1; INCR fencelab_token:{/l}"},
			"granted a token 1, ended a, granted b token 2"},
		"a token of another step": {1, []string{"SET /l a PXAT 1", "INCR fencelab_token:{/l}"}, "granted a"},
		"a hash": {1, []string{"HINCRBY /l a 1; PEXPIREAT /l 1; INCR redisson_lock_token:{/l}", "HINCRBY /l a 1", "HINCRBY /l a -1", "DEL /l"},
			"granted a token 1, ended a"},
		"readers": {1, []string{"HSET /l mode read; HINCRBY /l a 1; PEXPIREAT /l 1", "HINCRBY /l b 1", "HDEL /l a", "DEL /l"},
			"granted a shared, granted b shared, ended a, ended b"},
		"a writer":                       {1, []string{"HSET /l mode write; HINCRBY /l a:write 1; PEXPIREAT /l 1", "DEL /l"}, "granted a:write, ended a:write"},
		"a key of ShedLock":              {1, []string{"SET job-lock:default:{/l} a PXAT 1", "SET job-lock:default:{/l} b PXAT 1", "DEL job-lock:default:{/l}"}, "granted a, ended a, granted b, ended b"},
		"another key":                    {1, []string{"SET /other a PXAT 1"}, ""},
		"all is gone":                    {1, []string{"SET /l a PXAT " + later, "FLUSHALL"}, "granted a, ended a revoked"},
		"a minority":                     {3, []string{"1| SET /l a PXAT 1"}, ""},
		"a majority":                     {3, []string{"1| SET /l a PXAT 1", "2| SET /l a PXAT 1", "3| SET /l a PXAT 1", "3| DEL /l", "1| DEL /l"}, "granted a, ended a"},
		"a majority's first key expires": {3, []string{"1| SET /l a PXAT 1", "2| SET /l a PXAT " + later, "1| DEL /l"}, "granted a, ended a"},
		"a majority's first key is deleted": {3, []string{"1| SET /l a PXAT " + later, "2| SET /l a PXAT " + later, "1| DEL /l"},
			"granted a, ended a revoked"},
		"a majority's key that never expires is deleted": {3, []string{"1| SETNX /l a", "2| SETNX /l a", "1| DEL /l"}, "granted a, ended a revoked"},
		"two that differ": {3, []string{"1| SET /l a PXAT 1", "2| SET /l b PXAT 1", "3| SET /l b PXAT 1"}, "granted b"},
	} {
		t.Run(name, func(t *testing.T) {
			l := new(listener)
			a := newAccount(l, tt.nodes, tt.nodes/2+1)
			for _, step := range tt.stream {
				node, commands := 0, step
				if n, rest, ok := strings.Cut(step, "| "); ok {
					node, commands = int(n[0]-'1'), rest
				}
				a.change(node, func(d database) database {
					for _, c := range strings.Split(commands, "; ") {
						d.apply(strings.Fields(c))
					}
					return d
				})
			}
			if got := strings.Join(l.told, ", "); got != tt.account {
				t.Errorf("got  %s\nwant %s", got, tt.account)
			}
		})
	}
}

// TestAccountOfAllNodes: a lock that is all of its nodes' locks is held while each of them knows
// the holder.
func TestAccountOfAllNodes(t *testing.T) {
	l := new(listener)
	a := newAccount(l, 3, 3)
	for _, step := range []string{"0 HSET /l a 1", "1 HSET /l a 1", "2 HSET /l a 1", "1 DEL /l", "1 HSET /l b 1", "0 DEL /l", "2 DEL /l", "0 HSET /l b 1", "2 HSET /l b 1"} {
		l.told = append(l.told, step)
		command := strings.Fields(step)
		a.change(int(command[0][0]-'0'), func(d database) database {
			d.apply(command[1:])
			return d
		})
	}
	want := "0 HSET /l a 1, 1 HSET /l a 1, 2 HSET /l a 1, granted a, 1 DEL /l, ended a revoked, 1 HSET /l b 1, 0 DEL /l, 2 DEL /l, 0 HSET /l b 1, 2 HSET /l b 1, granted b"
	if got := strings.Join(l.told, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestNeeds: which locks are held on all nodes, and which on most.
func TestNeeds(t *testing.T) {
	for _, r := range recipes {
		want := map[string]int{"redisson-multi": 5, "java/redisson-multi": 5, "java/redisson-multi-seconds": 5}[r.common().name]
		clients := map[string]scenario.Client{"c": {Values: setting.Values{service.By: r.common().name}}}
		if got := needs(clients, 5); got != max(want, 3) {
			t.Errorf("%s needs %d of 5 nodes, want %d", r.common().name, got, max(want, 3))
		}
	}
}

// TestBecause: the account says why a tenure is revoked, as long as it knows.
func TestBecause(t *testing.T) {
	l := new(listener)
	a := newAccount(l, 1, 1)
	take := func(owner string) {
		a.change(0, func(d database) database {
			d.apply([]string{"SET", "/l", owner})
			return d
		})
	}
	take("a")
	over := a.because("it is evicted")
	take("b")
	over()
	take("c")
	if got, want := strings.Join(l.told, ", "), "granted a, ended a revoked: it is evicted, granted b, ended b revoked, granted c"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestOutlast: what a dead node held is over with its time to live, and not before.
func TestOutlast(t *testing.T) {
	l := new(listener)
	a := newAccount(l, 1, 1)
	set := func(command ...string) {
		a.change(0, func(d database) database {
			d.apply(command)
			return d
		})
	}
	until := time.Now().Add(20 * time.Millisecond).Truncate(time.Millisecond)
	set("SET", "/l", "a", "PXAT", fmt.Sprint(until.UnixMilli()))
	set("SET", "fencelab_token:{/l}", "1")
	a.outlast(t.Context(), 0)
	if got := strings.Join(l.told, ", "); got != "granted a, ended a" || time.Now().Before(until) {
		t.Errorf("told %s at %v, and its lease ends at %v", got, time.Now(), until)
	}
	set("SET", "/l", "b", "PXAT", fmt.Sprint(time.Now().Add(time.Hour).UnixMilli()))
	back, cancel := context.WithCancel(t.Context())
	cancel()
	a.outlast(back, 0)
	if got := l.told[len(l.told)-1]; got != "granted b" {
		t.Errorf("told %s of a node that is back", got)
	}
}

// TestApply: commands that a stream may have in place of others.
func TestApply(t *testing.T) {
	for commands, want := range map[string]string{
		"SET k 1; INCRBY k 4; DECR k": "4",
		"INCR k":                      "1",
		"SETEX k 10 v":                "v",
		"PSETEX k 10 v":               "v",
		"SET k v; UNLINK k":           "",
		"SET k v; PUBLISH k w":        "v",
		"LPUSH k v":                   "",
		"SET k v PXAT 9999999999999; SET k w KEEPTTL":  "w",
		"HSET h f 1; HINCRBY h f 2; HDEL h f; SET k h": "h",
	} {
		d := make(database)
		for _, c := range strings.Split(commands, "; ") {
			d.apply(strings.Fields(c))
		}
		if got := d.text("k", ""); got != want {
			t.Errorf("%s: k is %q, want %q", commands, got, want)
		}
		if d["h"] != nil {
			t.Errorf("%s: h is left without a field", commands)
		}
	}
}
