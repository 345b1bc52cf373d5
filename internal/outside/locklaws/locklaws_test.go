package locklaws_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/outside/locklaws"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// serviceArg has the test binary be a lock service: a flaw or a style, an address and a directory follow.
const serviceArg = "lockservice"

// mute is a service that knows no word of the protocol.
const mute = "mute"

func TestMain(m *testing.M) {
	proctest.Play(proc.Janitor(), &cobra.Command{
		Use: serviceArg, Args: cobra.ExactArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			change := styles[args[0]]
			if args[0] == mute {
				change = func(m *memory) { m.mute = true }
			}
			for _, f := range flaws {
				if f.name == args[0] {
					change = f.change
				}
			}
			return newMemory(change).serve(args[1], args[2])
		},
	})
	proctest.SideBySide(8)
	m.Run()
}

// command runs the lock service with a flaw, or in a style.
func command(name string) string {
	return fmt.Sprintf("'%s' %s '%s' {addr} {dir}", os.Args[0], serviceArg, name)
}

// styles are lock services that are right.
var styles = map[string]func(*memory){
	"with tokens, renewed":          nil,
	"without tokens, a fixed lease": func(m *memory) { m.noTokens, m.renews = true, false },
}

// flaws are lock services of which one thing is wrong, and the laws that show it.
var flaws = []struct {
	name   string
	change func(*memory)
	found  string // a law that says what is wrong
	why    string
}{
	{"a line is late", func(m *memory) { m.late = 10 * time.Millisecond }, "a grant is said", "no line said before"},
	{"a grant without a line", func(m *memory) { m.silent = func(kind string) bool { return kind == "granted" } }, "a grant is said", "was not granted"},
	{"a line with another token", func(m *memory) { m.lineToken = func(token int64) int64 { return token + 1 } }, "a grant is said", "want the same"},
	{"an end without a line", func(m *memory) { m.silent = func(kind string) bool { return kind == "ended" } }, "a release is said", "no line said before"},
	{"a release is called an expiry", func(m *memory) { m.cause = instead("released", "expired") }, "a release is said", `has the cause "expired"`},
	{"an expiry is called a release", func(m *memory) { m.cause = instead("expired", "released") }, "an expiry is said", `with the cause "released"`},
	{"leases end when somebody asks", func(m *memory) { m.lazy = true }, "an expiry is said", "no line says that it ended"},
	{"a lease ends after 4 TTLs", func(m *memory) { m.lease = func(ttl time.Duration) time.Duration { return 4 * ttl } }, "a crash frees the lock", "no grant"},
	{"a lease never ends", func(m *memory) { m.lease = func(time.Duration) time.Duration { return time.Hour } }, "an expiry is said", "no line says that it ended"},
	{"a lease ends early", func(m *memory) { m.lease = func(ttl time.Duration) time.Duration { return ttl / 2 } }, "an expiry is said", "and not before"},
	{"an unlock is ignored", func(m *memory) {
		m.unlocks = func(l *hold, owner string) (bool, bool) { return false, l != nil && l.Owner == owner }
	}, "a trylock that fails leaves nothing", "should hold"},
	{"an unlock by anyone", func(m *memory) { m.unlocks = func(l *hold, _ string) (bool, bool) { return l != nil, l != nil } }, "a second unlock frees nothing", "want ErrLost"},
	{"an unlock by anyone, who is told that it failed", func(m *memory) {
		m.unlocks = func(l *hold, owner string) (bool, bool) { return l != nil, l != nil && l.Owner == owner }
	}, "a second unlock frees nothing", "while another tenure was current"},
	{"an unlock of what is over is fine", func(m *memory) {
		m.unlocks = func(l *hold, owner string) (bool, bool) { return l != nil && l.Owner == owner, true }
	}, "an unlock of what is over says so", "want ErrLost"},
	{"a held lock is granted", func(m *memory) { m.others = func(*hold) bool { return true } }, "a trylock grants as a lock does", "while another tenure was current"},
	{"a second grant in the lines", func(m *memory) {
		m.grants = func(m *memory, scope, owner string) { m.say("granted", scope, owner+"-again", "") }
	}, "the lines are one story", "was not over"},
	{"a grant that nobody asked for", func(m *memory) {
		m.grants = func(m *memory, scope, owner string) { m.say("granted", scope+"-other", owner+"-other", "") }
	}, "the lines are one story", "nobody has asked for that"},
	{"a grant to one who gave up", func(m *memory) {
		m.refused = func(m *memory, scope, owner string) { m.queue[scope] = owner }
	}, "a trylock that fails leaves nothing", "should hold"},
	{"a refusal, and a grant in the lines", func(m *memory) {
		m.refused = func(m *memory, scope, owner string) { m.say("granted", scope, owner, "") }
	}, "the lines are one story", "was not over"},
	{"a token twice", func(m *memory) { m.next = func(last int64) int64 { return max(last, 7) } }, "tokens grow after a release", "not higher"},
	{"tokens fall", func(m *memory) {
		m.next = func(last int64) int64 {
			if last == 0 {
				return 1 << 40
			}
			return last - 1
		}
	}, "tokens grow after a release", "not higher"},
	{"a renewal is ignored", func(m *memory) {
		m.renewal = func(l *hold, owner string) (bool, bool) { return false, l != nil && l.Owner == owner }
	}, "a living holder keeps the lock", "though the client lives"},
	{"a renewal by anyone", func(m *memory) { m.renewal = func(l *hold, _ string) (bool, bool) { return l != nil, true } }, "a renewal is the tenure's", "of what was unlocked: it answers"},
	{"a restart begins anew", func(m *memory) { m.forgets = true }, "grants are new after service restarts", "not higher"},
}

func instead(of, other string) func(string) string {
	return func(cause string) string {
		if cause == of {
			return other
		}
		return cause
	}
}

func judged(t *testing.T, o locklaws.Options) laws.Report {
	t.Helper()
	need.Program(t, "sh", "to run a lock service by a command")
	o.Exe, o.Timeout = os.Args[0], 10*time.Second
	report, err := locklaws.Judge(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// TestFlaws: each flaw is found by a law, whose reason says what is wrong.
func TestFlaws(t *testing.T) {
	t.Parallel()
	for _, f := range flaws {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			only := []string{f.found}
			if f.found == "the lines are one story" {
				only = append(only, "a trylock that fails leaves nothing") // in which a lock is taken, and refused
			}
			report := judged(t, locklaws.Options{Command: command(f.name), Only: only})
			i := slices.IndexFunc(report.Results, func(r laws.Result) bool { return r.Law == f.found })
			if r := report.Results[i]; r.Outcome != laws.Fails || !strings.Contains(r.Why, f.why) || len(r.Again) != 1 {
				t.Errorf("%s %s: %s, want it to fail: %s", r.Law, r.Outcome, r.Why, f.why)
			}
		})
	}
}

// TestWhatCannotBeJudged: the error says why.
func TestWhatCannotBeJudged(t *testing.T) {
	t.Parallel()
	need.Program(t, "sh", "to run the command")
	for want, o := range map[string]locklaws.Options{
		`there is no law "fair"`:           {Command: command("with tokens, renewed"), Only: []string{"fair"}},
		`names neither {addr} nor {port}`:  {Command: "true"},
		"ended (exit status 3)":            {Command: "sh -c 'exit 3' {addr}"},
		`it answers "what?", want granted`: {Command: command(mute)},
	} {
		o.Exe, o.Timeout = os.Args[0], 10*time.Second
		if _, err := locklaws.Judge(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", o.Command, err, want)
		}
	}
}

// TestRightOnesPass: also where they are of different kinds.
func TestRightOnesPass(t *testing.T) {
	t.Parallel()
	for style := range styles {
		t.Run(style, func(t *testing.T) {
			t.Parallel()
			wantRight(t, command(style))
		})
	}
	t.Run("in Python", func(t *testing.T) {
		t.Parallel()
		need.Program(t, "python3", "to run a lock service in Python")
		wantRight(t, "python3 ../../../examples/lockservice/server.py --listen {addr} --dir {dir}")
	})
}

func wantRight(t *testing.T, command string) {
	report := judged(t, locklaws.Options{Command: command})
	for _, r := range report.Results {
		if r.Outcome == laws.Fails || r.Outcome == laws.NotJudged {
			t.Errorf("%s %s: %s\n%s", r.Law, r.Outcome, r.Why, strings.Join(r.Lines, "\n"))
		}
	}
	if r := report.Results[0]; r.Asked < 20 {
		t.Errorf("%s is judged by %d requests, want 20 at least", r.Law, r.Asked)
	}
	if n := report.Count(laws.Holds); n < 40 {
		t.Errorf("%d laws hold, want 40 at least: %s", n, report.Says)
	}
}
