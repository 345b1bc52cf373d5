// Package kept has folders of the user's cache that a tool of the user's own makes once, such as of libraries that it
// fetches. A folder says which files it has, so that one that is damaged is found.
package kept

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/fencelab/fencelab/internal/platform/kernel"
	"github.com/fencelab/fencelab/internal/platform/sleep"
)

// Folder is one in the user's cache.
type Folder struct {
	Name string
	Sum  [sha256.Size]byte // of what it is made of: what is made of something else has another folder
	// Beside is how the names of files end that are added later, and are none of its own; "": there are none.
	Beside string
}

// SumOf is the check sum of files, with their names.
func SumOf(all ...fs.FS) (of [sha256.Size]byte) {
	sum := sha256.New()
	for _, files := range all {
		// What cannot be read can be made nothing of either, and Get says why.
		_ = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			data, err := fs.ReadFile(files, name)
			fmt.Fprintf(sum, "%s\n%d\n%s", name, len(data), data)
			return err
		})
	}
	sum.Sum(of[:0])
	return of
}

func (f Folder) dir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to keep it in: %w", err)
	}
	return filepath.Join(cache, "fencelab", fmt.Sprintf("%s-%x", f.Name, f.Sum[:4])), nil
}

// look returns the folder, "" where it is not there or damaged. It compares the sizes of all files, and with sums
// their check sums, too.
func (f Folder) look(sums bool) (where string, damage error) {
	dir, err := f.dir()
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return "", nil
	}
	if err := f.compare(dir, sums); err != nil {
		return "", fmt.Errorf("%s is damaged: %w", dir, err)
	}
	return dir, nil
}

// Found returns the path, "" where the folder is not there, or has files of another size than when it was made.
func (f Folder) Found() string {
	where, _ := f.look(false)
	return where
}

// FoundBy is Found. bring is what brings the folder: get, and what is wrong with the one that is there.
func (f Folder) FoundBy(get string) (where, bring string) {
	where, damage := f.look(false)
	if damage != nil {
		return "", fmt.Sprintf("%s (%v)", get, damage)
	}
	return where, get
}

// Whole compares the files that are there with their check sums.
func (f Folder) Whole() error {
	_, damage := f.look(true)
	return damage
}

// Tool is what makes folders.
type Tool struct {
	Name    string // as in "Maven fetches it"
	Program string
	Install string // the command that brings the program
	Help    string // what it needs, for who reads that it has failed
}

// Run runs a command of a tool.
type Run func(command ...string) error

// Get has the folder made, unless it is there and whole, and tells progress about it. does says what the tool does.
// make makes a folder below dir, which is empty, and returns its path.
func (f Folder) Get(ctx context.Context, progress io.Writer, by Tool, does string, make func(run Run, dir string) (made string, err error)) error {
	where, damage := f.look(true)
	if where != "" {
		return nil
	}
	if damage != nil {
		fmt.Fprintf(progress, "%s: %v\n", f.Name, damage)
	}
	if _, err := exec.LookPath(by.Program); err != nil {
		return fmt.Errorf("%s: %s %s it, and %[2]s is missing: %[4]s", f.Name, by.Name, does, by.Install)
	}
	return f.Alone(ctx, progress, func(dir, work string) error {
		if where, _ := f.look(true); where != "" {
			return nil // another process has made it meanwhile
		}
		fmt.Fprintf(progress, "%s: %s %s it into %s\n", f.Name, by.Name, does, dir)
		made, err := make(func(command ...string) error { return by.run(ctx, command) }, work)
		if err == nil {
			err = f.writeList(made)
		}
		if err != nil {
			return err
		}
		return errors.Join(os.RemoveAll(dir), os.Rename(made, dir))
	})
}

// askAgain is after what time a process looks again whether another one is done.
const askAgain = 100 * time.Millisecond

// Alone calls do with the folder and with one for the work, which is empty, and goes at the end. One process at a
// time does so, of all folders: what is left in the second folder is of one that was killed.
func (f Folder) Alone(ctx context.Context, progress io.Writer, do func(dir, work string) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", f.Name, err)
		}
	}()
	dir, err := f.dir()
	if err != nil {
		return err
	}
	cache := filepath.Dir(dir)
	err = os.MkdirAll(cache, 0o755)
	var lock *os.File
	if err == nil {
		lock, err = os.OpenFile(filepath.Join(cache, "lock"), os.O_CREATE|os.O_RDWR, 0o644)
	}
	if err != nil {
		return fmt.Errorf("%w; set XDG_CACHE_HOME to a directory in which files can be made", err)
	}
	defer lock.Close()
	for told := false; ; told = true {
		locked, err := kernel.Lock(lock)
		if err != nil {
			return fmt.Errorf("lock %s: %w", lock.Name(), err)
		}
		if locked {
			break
		}
		if !told {
			fmt.Fprintf(progress, "%s: waits for another process that fetches something\n", f.Name)
		}
		if !sleep.For(ctx, askAgain) {
			return fmt.Errorf("another process fetches something: %w", context.Cause(ctx))
		}
	}
	work := filepath.Join(cache, "work")
	defer os.RemoveAll(work)
	if err := errors.Join(os.RemoveAll(work), os.Mkdir(work, 0o700)); err != nil {
		return err
	}
	return do(dir, work)
}

func (t Tool) run(ctx context.Context, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	defer Dying(cmd)()
	cmd.Cancel = func() error { return kernel.SignalGroup(cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s failed (%w); %s; it said:\n%s", filepath.Base(command[0]), errors.Join(err, context.Cause(ctx)), t.Help, strings.TrimSpace(string(out)))
	}
	return nil
}

// Dying has a command die with this process, and lead a process group. It dies with the thread that starts it, too, so
// this goroutine keeps its thread until over is called.
func Dying(cmd *exec.Cmd) (over func()) {
	runtime.LockOSThread()
	cmd.SysProcAttr = kernel.Dying(true)
	return runtime.UnlockOSThread
}
