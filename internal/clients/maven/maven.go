// Package maven fetches libraries of Java, and compiles programs, by the user's own Maven, once.
package maven

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
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/fencelab/fencelab/internal/platform/kernel"
	"github.com/fencelab/fencelab/internal/platform/sleep"
)

// Install is the command that brings Maven, and Java.
const Install = "apt-get install maven"

type Libraries struct {
	Name string // of their folder
	POM  []byte // a pom.xml whose dependencies they are
	// Unpack, unless it is nil, makes of the folder of the jars what it is to be.
	Unpack func(dir string) error
}

// kept is their folder. A POM with other versions has another one.
func (l Libraries) kept() kept { return kept{l.Name, sha256.Sum256(l.POM)} }

// Found returns the folder of the jars in the user's cache, "" where they are not there, or not of the size that was
// fetched.
func (l Libraries) Found() string { return l.kept().found() }

// FoundToRun is Found, and "" where Java is missing. bring is what brings it, or the jars: get, and what is wrong
// with those that are there.
func (l Libraries) FoundToRun(get string) (where, bring string) { return l.kept().foundToRun(get) }

// Whole compares the jars that are there with their check sums.
func (l Libraries) Whole() error { return l.kept().whole() }

// Get fetches the jars, and tells progress about it. Where they are there, and whole, it returns at once.
func (l Libraries) Get(ctx context.Context, progress io.Writer) error {
	return l.kept().get(ctx, progress, "fetches", func(run func(args ...string) error, dir string) (string, error) {
		pom, jars := filepath.Join(dir, "pom.xml"), filepath.Join(dir, "jars")
		if err := os.WriteFile(pom, l.POM, 0o644); err != nil {
			return "", err
		}
		if err := run("-f", pom, "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+jars); err != nil {
			return "", err
		}
		if l.Unpack != nil {
			if err := l.Unpack(jars); err != nil {
				return "", fmt.Errorf("unpack what Maven has fetched: %w", err)
			}
		}
		return jars, nil
	})
}

const InstallJava = "apt-get install default-jdk-headless"

// Java is the program that runs jars, "" where there is none.
func Java() string {
	path, _ := exec.LookPath("java")
	return path
}

// Options are those of Java for a process called name that starts quickly, with a heap of at most so much, and
// leaves what it leaves in dir. The JVM says nothing. The compiler makes code at once, and not better code later,
// and the bytecode of libraries, whose versions are pinned, is not verified each time.
func Options(heap, dir, name string) []string {
	return []string{
		"-Xmx" + heap, "-XX:TieredStopAtLevel=1", "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote",
		"-XX:-UsePerfData", "-Xlog:disable", "-XX:ErrorFile=" + filepath.Join(dir, name+".java.log"), "-Djava.io.tmpdir=" + dir,
	}
}

// ServerOptions are Options of a server, which is better dead than short of memory.
func ServerOptions(heap, dir, name string) []string {
	return append(Options(heap, dir, name), "-XX:+UseSerialGC", "-XX:+ExitOnOutOfMemoryError")
}

// kept is what Maven makes once: a folder in the user's cache.
type kept struct {
	name string
	sum  [sha256.Size]byte // of what it is made of
}

func (k kept) dir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder to keep it in: %w", err)
	}
	return filepath.Join(cache, "fencelab", fmt.Sprintf("%s-%x", k.name, k.sum[:4])), nil
}

// look returns the folder, "" where it is not there or damaged. It compares the sizes of all files, and with sums
// their check sums, too.
func (k kept) look(sums bool) (where string, damage error) {
	dir, err := k.dir()
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return "", nil
	}
	if err := compare(dir, sums); err != nil {
		return "", fmt.Errorf("%s is damaged: %w", dir, err)
	}
	return dir, nil
}

func (k kept) found() string {
	where, _ := k.look(false)
	return where
}

func (k kept) foundToRun(get string) (where, bring string) {
	if Java() == "" {
		return "", InstallJava
	}
	where, damage := k.look(false)
	if damage != nil {
		return "", fmt.Sprintf("%s (%v)", get, damage)
	}
	return where, get
}

func (k kept) whole() error {
	_, damage := k.look(true)
	return damage
}

// making makes a folder below dir, which is empty, and returns its path. run runs Maven.
type making func(run func(args ...string) error, dir string) (made string, err error)

// get has the folder made, unless it is there and whole. does says what Maven does.
func (k kept) get(ctx context.Context, progress io.Writer, does string, make making) error {
	where, damage := k.look(true)
	if where != "" {
		return nil
	}
	if damage != nil {
		fmt.Fprintf(progress, "%s: %v\n", k.name, damage)
	}
	program, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("%s: Maven %s it, and Maven is missing: %s", k.name, does, Install)
	}
	return k.alone(ctx, progress, func(dir, work string) error {
		if where, _ := k.look(true); where != "" {
			return nil // another process has made it meanwhile
		}
		fmt.Fprintf(progress, "%s: Maven %s it into %s\n", k.name, does, dir)
		made, err := make(func(args ...string) error { return run(ctx, program, args) }, work)
		if err == nil {
			err = writeList(made)
		}
		if err != nil {
			return err
		}
		return errors.Join(os.RemoveAll(dir), os.Rename(made, dir))
	})
}

// askAgain is after what time a process looks again whether another one is done.
const askAgain = 100 * time.Millisecond

// alone calls do with the kept folder and with one for the work, which is empty, and goes at the end. One process at a
// time does so: what is left in the second folder is of one that was killed.
func (k kept) alone(ctx context.Context, progress io.Writer, do func(dir, work string) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", k.name, err)
		}
	}()
	dir, err := k.dir()
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
			fmt.Fprintf(progress, "%s: waits for another process that uses Maven\n", k.name)
		}
		if !sleep.For(ctx, askAgain) {
			return fmt.Errorf("another process uses Maven: %w", context.Cause(ctx))
		}
	}
	work := filepath.Join(cache, "work")
	defer os.RemoveAll(work)
	if err := errors.Join(os.RemoveAll(work), os.Mkdir(work, 0o700)); err != nil {
		return err
	}
	return do(dir, work)
}

func run(ctx context.Context, program string, args []string) error {
	cmd := exec.CommandContext(ctx, program, append([]string{"-q", "-B"}, args...)...)
	defer dying(cmd)()
	cmd.Cancel = func() error { return kernel.SignalGroup(cmd.Process.Pid, syscall.SIGKILL) }
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("mvn failed (%w); it needs the network, or a mirror in ~/.m2/settings.xml; it said:\n%s",
			errors.Join(err, context.Cause(ctx)), strings.TrimSpace(string(out)))
	}
	return nil
}

// dying has a command die with this process, and lead a process group. It dies with the thread that starts it, too, so
// this goroutine keeps its thread until over is called.
func dying(cmd *exec.Cmd) (over func()) {
	runtime.LockOSThread()
	cmd.SysProcAttr = kernel.Dying(true)
	return runtime.UnlockOSThread
}

// Project is programs in Java: modules of one project of Maven.
type Project struct {
	Name  string // of its folder
	Files fs.FS  // its sources, with a pom.xml
	Group string // of its own modules, which are no libraries
}

// kept is its folder. Other sources have another one.
func (p Project) kept() kept {
	sum := sha256.New()
	// What cannot be read cannot be compiled either, and Get says why.
	_ = fs.WalkDir(p.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(p.Files, name)
		fmt.Fprintf(sum, "%s\n%d\n%s", name, len(data), data)
		return err
	})
	k := kept{name: p.Name}
	sum.Sum(k.sum[:0])
	return k
}

// Found returns the folder of the project, "" where it was not compiled, or has files of another size since.
func (p Project) Found() string { return p.kept().found() }

// FoundToRun is Found, as that of Libraries.
func (p Project) FoundToRun(get string) (where, bring string) { return p.kept().foundToRun(get) }

// Whole compares the project that is there with its check sums.
func (p Project) Whole() error { return p.kept().whole() }

// Get compiles the project, unless it is there and whole, fetches its libraries, and tells progress about it.
func (p Project) Get(ctx context.Context, progress io.Writer) error {
	return p.kept().get(ctx, progress, "compiles", func(run func(args ...string) error, dir string) (string, error) {
		made := filepath.Join(dir, "made")
		if err := os.CopyFS(made, p.Files); err != nil {
			return "", err
		}
		return made, run("-f", filepath.Join(made, "pom.xml"), "compile", "jar:jar", "dependency:copy-dependencies",
			"-DincludeScope=runtime", "-DexcludeGroupIds="+p.Group)
	})
}

// ClassPath is the class path of a module and the modules that it uses, whose jars, named as they are, lie
// in the folder of Found.
func ClassPath(dir, module string, uses ...string) string {
	var path []string
	for _, name := range append([]string{module}, uses...) {
		path = append(path, filepath.Join(dir, name, "target", name+".jar"))
	}
	path = append(path, filepath.Join(dir, module, "target", "dependency", "*"))
	return strings.Join(path, string(filepath.ListSeparator))
}

type Program struct {
	Module, Main string
	Uses         []string // other modules
}

// Start are Java's arguments after all options, before those of the program. Found must have found the project.
// The JVM uses what Archive has kept, unless it is another JVM by now.
func (p Project) Start(of Program) []string {
	dir := p.Found()
	return append([]string{"-XX:SharedArchiveFile=" + of.archive(dir)}, of.run(dir)...)
}

func (p Program) run(dir string) []string {
	return []string{"-cp", ClassPath(dir, p.Module, p.Uses...), p.Main}
}

// archived ends the name of what Archive keeps.
const archived = ".jsa"

func (p Program) archive(dir string) string { return filepath.Join(dir, p.Module, p.Main+archived) }

// Trial is how to run a program for a moment, where nobody whom it asks for answers.
type Trial struct {
	Program
	Arguments []string
	Input     string // all that it reads
	Env       []string
}

const (
	// trialTime is for how long a program is run that does not end by itself.
	trialTime = 8 * time.Second
	// endTime is how long the JVM may take to keep the classes, at its end, on a busy machine.
	endTime = time.Minute
)

// Archive has programs run once, side by side, and keeps what the JVM has made of the classes that
// they have loaded (class data sharing): later runs start with a third less work. Where that was
// done it returns at once. A program of which nothing is kept starts as well.
func (p Project) Archive(ctx context.Context, progress io.Writer, trials ...Trial) error {
	dir := p.Found()
	var missing []Trial
	for _, t := range trials {
		if _, err := os.Stat(t.archive(dir)); err != nil {
			missing = append(missing, t)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	fmt.Fprintf(progress, "%s: runs each program once, for up to %v, so that later runs start faster\n", p.Name, trialTime)
	return p.kept().alone(ctx, progress, func(dir, work string) error {
		trial, cancel := context.WithTimeout(ctx, trialTime)
		defer cancel()
		made := func(i int) string { return filepath.Join(work, fmt.Sprint(i, archived)) }
		var all sync.WaitGroup
		for i, t := range missing {
			all.Go(func() {
				keep := []string{"-XX:+UseSerialGC", "-XX:ArchiveClassesAtExit=" + made(i)}
				cmd := exec.CommandContext(trial, Java(), slices.Concat(Options("256m", work, fmt.Sprint(i)), keep, t.run(dir), t.Arguments)...)
				defer dying(cmd)()
				cmd.Stdin = strings.NewReader(t.Input)
				cmd.Env = append(os.Environ(), t.Env...)
				cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
				cmd.WaitDelay = endTime
				_ = cmd.Run() // nobody has answered
			})
		}
		all.Wait()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for i, t := range missing {
			_ = os.Rename(made(i), t.archive(dir)) // it is not there where the JVM keeps nothing
		}
		return nil
	})
}
