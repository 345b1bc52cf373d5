package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Each calls do with each process that was started, in their order; name is what Start was told.
func (g *Group) Each(do func(name string, p *Process)) {
	g.mu.Lock()
	procs := g.procs
	g.mu.Unlock()
	for _, p := range procs {
		do(p.lane, p)
	}
}

// Waited is for how long the threads of the process, and of those that it started, in all, were ready to run since they
// began, and waited for a processor; 0 where it has ended, or the kernel does not tell. See the
// kernel's documentation of schedstats.
func (p *Process) Waited() (all time.Duration) {
	select {
	case <-p.done:
		return 0
	default:
	}
	pids := []int{p.PID()}
	if p.family != nil {
		pids = Members(p.PID())
	}
	for _, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid)) // the pattern is good
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				continue // a thread that has just ended
			}
			var ran, delay time.Duration
			if _, err := fmt.Fscan(strings.NewReader(string(b)), &ran, &delay); err == nil {
				all += delay
			}
		}
	}
	return all
}
