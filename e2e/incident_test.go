package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestIncident: a history that a program makes of its own logs is judged, and drawn. The clocks of their hosts differ
// by 40 seconds.
func TestIncident(t *testing.T) {
	t.Parallel()
	const incident = "../examples/incident/"
	python := need.Program(t, "python3", "to make a history of an incident")
	w := newWorld(t)
	// written is the history that is made of logs, without what edit removes from each.
	written := func(edit *regexp.Regexp, names ...string) string {
		dir := t.TempDir()
		args := []string{incident + "history.py"}
		for _, name := range names {
			text, err := os.ReadFile(incident + name)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, edit.ReplaceAll(text, nil), 0o600); err != nil {
				t.Fatal(err)
			}
			args = append(args, path)
		}
		cmd := exec.Command(python, args...)
		cmd.Stderr = t.Output()
		lines, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "incident.jsonl")
		if err := os.WriteFile(path, lines, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	whole := regexp.MustCompile(`^$`)

	unserved := written(whole, "worker-a.log", "worker-b.log", "binlog.txt")
	p := w.start("gcsim", "check", "--ttl", "10s", unserved)
	p.want(1)
	p.says("worker-b's", "order-17=shipped is destroyed", "verdict: corrupted: worker-b's write is lost", "exclusive: yes", "worker-b: -40.2", "holds the lock, by its own word")
	w.start("gcsim", "draw", "-o", filepath.Join(t.TempDir(), "incident.svg"), unserved).want(0)
	p = w.start("gcsim", "check", "--ttl", "10s", "--skew", "1s", unserved)
	p.want(2)
	p.says("the storage's order contradicts --skew")

	served := written(whole, "worker-a.log", "worker-b.log", "binlog.txt", "appendonly.aof")
	p = w.start("gcsim", "check", served)
	p.want(1)
	p.says("verdict: corrupted: worker-b's write is lost")

	// Without the late write.
	mended := regexp.MustCompile("(?m)^.*worker-a (sets|has set) order 17.*\n|^### UPDATE .*\n(###.*\n){5}.*'cancelled'\n")
	p = w.start("gcsim", "check", "--ttl", "10s", written(mended, "worker-a.log", "worker-b.log", "binlog.txt"))
	p.want(0)
	p.says("verdict: safe")

	// Of order 17 alone the storage's order says only that worker-a was the later one.
	one := regexp.MustCompile("(?m)^.*T06:(01:16.2|01:56|01:31|02:11).*\n|^### UPDATE .*\n(###.*\n){4}###   @1=1[68]\n.*\n")
	p = w.start("gcsim", "check", "--ttl", "10s", written(one, "worker-a.log", "worker-b.log", "binlog.txt"))
	p.want(3)
	p.says("verdict: undecided", "the clocks of its clients", "--skew")
}

// TestAccountAfterwards: what lock services keep says who had the lock, when, and in which order.
func TestAccountAfterwards(t *testing.T) {
	t.Parallel()
	python := need.Program(t, "python3", "to make a history of logs")
	for service, tt := range map[string]struct{ tells, want string }{
		"redis": {
			"#TS:1795759276\r\n*5\r\n$3\r\nSET\r\n$11\r\nlock:orders\r\n$2\r\na1\r\n$4\r\nPXAT\r\n$13\r\n1795759286277\r\n*2\r\n$3\r\nDEL\r\n$11\r\nlock:orders\r\n" +
				"*5\r\n$3\r\nSET\r\n$11\r\nlock:orders\r\n$2\r\nb1\r\n$4\r\nPXAT\r\n$13\r\n1795759287000\r\n",
			"granted a1, ended a1, granted b1",
		},
		"etcd": {"PUT orders/a1\nPUT orders/b1\nDELETE orders/c1\nDELETE orders/a1\n", "granted a1, ended a1, granted b1"},
		"zookeeper": {
			"11/27/26, 6:08:01 AM UTC session 0x1 cxid 0x4 zxid 0x3 create /orders/a__lock__0000000000,x,[31,s{'world,'anyone}\n],true,1\n" +
				"11/27/26, 6:08:01\u202fAM UTC session 0x2 cxid 0x2 zxid 0x5 create /orders/b__lock__0000000001,x,[31,s{'world,'anyone}\n],true,2\n" +
				"11/27/26, 6:08:03 AM UTC session 0x1 cxid 0x0 zxid 0xe closeSession v{'/orders/a__lock__0000000000}\n" +
				"11/27/26, 6:08:04 AM UTC session 0x2 cxid 0x6 zxid 0x8 delete '/orders/b__lock__0000000001\n",
			"granted a__lock__0000000000, ended a__lock__0000000000, granted b__lock__0000000001, ended b__lock__0000000001",
		},
		"zookeeper's audit log": {
			"user=x\toperation=create\tznode=/orders/a__lock__0000000004\tznode_type=ephemeral_sequential\tresult=success\nuser=x\toperation=create\tznode=/orders/b__lock__0000000005\tznode_type=ephemeral_sequential\tresult=success\n" +
				"user=root\toperation=ephemeralZNodeDeletionOnSessionCloseOrExpire\tznode=/orders/a__lock__0000000004\tresult=success\nuser=x\toperation=delete\tznode=/orders/b__lock__0000000005\tresult=success\n",
			"granted a__lock__0000000004, ended a__lock__0000000004, granted b__lock__0000000005, ended b__lock__0000000005",
		},
		"postgres": {
			"BEGIN\ntable public.fence_locks: INSERT: scope[text]:'orders' owner[text]:'a1' token[bigint]:1\nCOMMIT (at 2026-11-27 06:09:12.134085+00)\n" +
				"BEGIN\ntable public.fence_locks: UPDATE: old-key: scope[text]:'orders' owner[text]:'a1' token[bigint]:1 new-tuple: scope[text]:'orders' owner[text]:'' token[bigint]:1\nCOMMIT (at 2026-11-27 06:09:12.443298+00)\n" +
				"BEGIN\ntable public.fence_locks: UPDATE: scope[text]:'orders' owner[text]:'b1' token[bigint]:2\nCOMMIT (at 2026-11-27 06:09:12.500106+00)\n",
			"granted a1, ended a1, granted b1",
		},
		"mariadb": {
			"#261127  6:11:14 server id 1  end_log_pos 599\n### INSERT INTO `shop`.`fence_locks`\n### SET\n###   @1='orders'\n###   @2='a1'\n###   @3=1\n" +
				"### UPDATE `shop`.`fence_locks`\n### WHERE\n###   @1='orders'\n###   @2='a1'\n###   @3=1\n### SET\n###   @1='orders'\n###   @2='b1'\n###   @3=2\n",
			"granted a1, ended a1, granted b1",
		},
		"elasticsearch": {
			"[2026-11-27T06:10:00,123][TRACE][i.i.s.index] [node] [fs-lock/4] took[1ms], took_millis[1], id[orders], routing[], source[{\"holder\":\"a1\"}]\n" +
				"[2026-11-27T06:10:02,123][TRACE][i.i.s.index] [node] [fs-lock/4] took[1ms], took_millis[1], id[orders], routing[], source[{\"holder\":\"b1\"}]\n",
			"granted a1, ended a1, granted b1",
		},
	} {
		dir := t.TempDir()
		log, account := filepath.Join(dir, "a.log"), filepath.Join(dir, "account")
		if err := errors.Join(
			os.WriteFile(log, []byte("2026-11-27T06:00:00.000Z a wants the lock\n"), 0o600),
			os.WriteFile(account, []byte(tt.tells), 0o600)); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(python, "../examples/incident/history.py", log, account)
		cmd.Stderr = t.Output()
		lines, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range bytes.Lines(lines) {
			var e history.Event
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatal(err)
			}
			if e.Kind == history.KindGranted || e.Kind == history.KindEnded {
				got = append(got, string(e.Kind)+" "+e.Tenure)
			}
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("%s: got %s, want %s", service, got, tt.want)
		}
	}
}
