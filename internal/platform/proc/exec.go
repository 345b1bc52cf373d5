package proc

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/fencelab/fencelab/internal/platform/kernel"
)

// parent is who started this process, before it can have changed its user.
var parent = os.Getppid()

// Exec makes this process, a child of a Group, into another program: argv[0] is its path. Exec
// returns only where that fails.
//
// The program ends with the group's process, as this one does. That is a fact of the thread
// that a child begins with, and a goroutine may be on any other; a change of the user ends it
// as well. So Exec says it once more, on the thread that stays.
func Exec(argv []string) error {
	runtime.LockOSThread()
	if err := kernel.DieWithParent(); err != nil {
		return fmt.Errorf("start %s: %w", argv[0], err)
	}
	if os.Getppid() != parent {
		return errors.New("the process that started this one has ended")
	}
	return fmt.Errorf("start %s: %w", argv[0], syscall.Exec(argv[0], argv, os.Environ()))
}
