package e2e

import (
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// stracePath is where strace is.
func stracePath(t *testing.T) string {
	t.Helper()
	return need.Strace(t, "to see system calls, and to have them fail")
}

// trace makes strace attach to a process, and returns when it has.
func (w *world) trace(p *process, args ...string) *process {
	w.t.Helper()
	s := w.start(stracePath(w.t), append(args, "-f", "-p", itoa(p.cmd.Process.Pid))...)
	s.awaitAttached()
	return s
}

func (p *process) awaitAttached() {
	p.t.Helper()
	for ended := false; ; {
		switch out := p.output(); {
		case strings.Contains(out, "attached"):
			return
		case strings.Contains(out, "Operation not permitted"):
			p.t.Logf("strace said:\n%s", out)
			need.Missing(p.t, "ptrace of running processes", "to have strace attach to one", "sysctl kernel.yama.ptrace_scope=0, in a container --cap-add SYS_PTRACE")
		case ended:
			p.t.Fatalf("strace ended; it said:\n%s", out)
		}
		select {
		case <-p.wrote:
		case <-p.done:
			ended = true
		}
	}
}

// detach ends strace; what it traced goes on.
func (p *process) detach() {
	p.t.Helper()
	p.signal(syscall.SIGINT)
	p.end()
}

// syscallEvent is the beginning or the end of a system call. strace sees one
// event at a time and lets the thread go on after: what caused another event is
// before it.
type syscallEvent struct {
	end  bool
	name string
	args string
	ret  string // at the end: the result as strace prints it
}

// file reports whether the call's first argument is a file whose name ends so.
func (e syscallEvent) file(suffix string) bool {
	fd, _, _ := strings.Cut(e.args, ">")
	return strings.HasSuffix(fd, suffix)
}

// fd is the call's first argument, as strace -y prints it.
func (e syscallEvent) fd() string {
	fd, _, _ := strings.Cut(e.args, ",")
	return fd
}

var (
	wholeCall   = regexp.MustCompile(`^(\d+) +(\w+)\((.*)\) += (.*)$`)
	begunCall   = regexp.MustCompile(`^(\d+) +(\w+)\((.*) <(?:unfinished|detached) \.\.\.>$`)
	resumedCall = regexp.MustCompile(`^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (.*)$`)
)

// readTrace reads what strace -f -y -o wrote.
func readTrace(t *testing.T, name string) (events []syscallEvent) {
	t.Helper()
	begun := map[string]string{} // arguments, by thread
	for line := range strings.Lines(read(t, name)) {
		line = strings.TrimSpace(line)
		if m := wholeCall.FindStringSubmatch(line); m != nil {
			events = append(events, syscallEvent{name: m[2], args: m[3]}, syscallEvent{true, m[2], m[3], m[4]})
		} else if m := begunCall.FindStringSubmatch(line); m != nil {
			begun[m[1]] = m[3]
			events = append(events, syscallEvent{name: m[2], args: m[3]})
		} else if m := resumedCall.FindStringSubmatch(line); m != nil {
			events = append(events, syscallEvent{true, m[2], begun[m[1]] + m[3], m[4]})
		}
	}
	return events
}
