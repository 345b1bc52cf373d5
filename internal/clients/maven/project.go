package maven

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

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

// Found returns the folder of the project, "" where it was not compiled.
func (p Project) Found() string { return p.kept().found() }

// Get compiles the project, unless that was done, fetches its libraries, and tells progress about it.
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

func (p Program) archive(dir string) string { return filepath.Join(dir, p.Module, p.Main+".jsa") }

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
	work, err := os.MkdirTemp(dir, "trial-")
	if err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	defer os.RemoveAll(work)
	trial, cancel := context.WithTimeout(ctx, trialTime)
	defer cancel()
	made := func(i int) string { return filepath.Join(work, fmt.Sprint(i, ".jsa")) }
	var all sync.WaitGroup
	for i, t := range missing {
		all.Go(func() {
			keep := []string{"-XX:+UseSerialGC", "-XX:ArchiveClassesAtExit=" + made(i)}
			cmd := exec.CommandContext(trial, Java(), slices.Concat(Options("256m", work, fmt.Sprint(i)), keep, t.run(dir), t.Arguments)...)
			cmd.Stdin = strings.NewReader(t.Input)
			cmd.Env = append(os.Environ(), t.Env...)
			cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
			cmd.WaitDelay = endTime
			_ = cmd.Run() // nobody has answered
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", p.Name, context.Cause(ctx))
	}
	for i, t := range missing {
		_ = os.Rename(made(i), t.archive(dir)) // it is not there where the JVM keeps nothing
	}
	return nil
}
