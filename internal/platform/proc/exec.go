package proc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

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

// Command is the role of a child that becomes the program of its arguments, by Exec. is says what
// the child is then, and of is what its errors begin with.
func Command(arg, is, of string) *cobra.Command {
	return &cobra.Command{
		Use: arg + " PROGRAM [ARGUMENT]...", Short: is, Hidden: true, Args: cobra.MinimumNArgs(1), DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error { return fmt.Errorf("%s: %w", of, Exec(args)) },
	}
}

// Look returns where a program is, "" where there is none: on PATH, or else in a folder beside one of PATH's,
// such as ../sbin or ../lib/NAME/*/bin. Where several match it takes the last in their order.
func Look(name, beside string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		all, _ := filepath.Glob(filepath.Join(dir, beside, name))
		for _, file := range slices.Backward(all) {
			if path, err := exec.LookPath(file); err == nil {
				return path
			}
		}
	}
	return ""
}
