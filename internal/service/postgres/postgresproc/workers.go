package postgresproc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/fencelab/fencelab/internal/platform/proc"
)

// workers are the ids of the server's processes but for the postmaster. All stay in the
// directory of the data, and nobody else is there.
func (s *Server) workers() (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err == nil && pid != s.Process().PID() && s.has(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// has reports whether a process is the server's. One that has ended is nobody's.
func (s *Server) has(pid int) bool {
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	return err == nil && cwd == s.dir
}

// eachWorker does something to each worker. One that ends meanwhile is as good.
func (s *Server) eachWorker(do func(*proc.Other) error) error {
	var errs []error
	for _, pid := range s.workers() {
		p, err := proc.Find(pid)
		if err != nil {
			continue
		}
		if s.has(pid) { // still: the number is not another's
			err = do(p)
		}
		if err != nil && !ended(err) {
			errs = append(errs, err)
		}
		p.Close()
	}
	return errors.Join(errs...)
}

func ended(err error) bool {
	return errors.Is(err, os.ErrProcessDone) || errors.Is(err, syscall.ESRCH)
}

// killWorkers returns once there are none.
func (s *Server) killWorkers() error {
	for len(s.workers()) > 0 {
		if err := s.eachWorker((*proc.Other).Kill); err != nil {
			return err
		}
		time.Sleep(time.Millisecond) // the kernel tells only the parent of their end
	}
	return nil
}
