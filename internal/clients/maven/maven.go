// Package maven fetches libraries of Java, and compiles programs, by the user's own Maven, once.
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

	"github.com/fencelab/fencelab/internal/clients/kept"
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
func (l Libraries) kept() kept.Folder { return kept.Folder{Name: l.Name, Sum: sha256.Sum256(l.POM)} }

// Found returns the folder of the jars in the user's cache, "" where they are not there, or not of the size that was
// fetched.
func (l Libraries) Found() string { return l.kept().Found() }

// FoundToRun is Found, and "" where Java is missing. bring is what brings it, or the jars: get, and what is wrong
// with those that are there.
func (l Libraries) FoundToRun(get string) (where, bring string) { return foundToRun(l.kept(), get) }

// Whole compares the jars that are there with their check sums.
func (l Libraries) Whole() error { return l.kept().Whole() }

// Get fetches the jars, and tells progress about it. Where they are there, and whole, it returns at once.
func (l Libraries) Get(ctx context.Context, progress io.Writer) error {
	return l.kept().Get(ctx, progress, tool, "fetches", func(run kept.Run, dir string) (string, error) {
		pom, jars := filepath.Join(dir, "pom.xml"), filepath.Join(dir, "jars")
		if err := os.WriteFile(pom, l.POM, 0o644); err != nil {
			return "", err
		}
		if err := run("mvn", "-q", "-B", "-f", pom, "dependency:copy-dependencies", "-DincludeScope=runtime", "-DoutputDirectory="+jars); err != nil {
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

// tool is what makes folders here.
var tool = kept.Tool{Name: "Maven", Program: "mvn", Install: Install, Help: "it needs the network, or a mirror in ~/.m2/settings.xml"}

// foundToRun is where a folder is, and "" where it or Java is missing.
func foundToRun(f kept.Folder, get string) (where, bring string) {
	if Java() == "" {
		return "", InstallJava
	}
	return f.FoundBy(get)
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

// Project is programs in Java: modules of one project of Maven.
type Project struct {
	Name  string // of its folder
	Files fs.FS  // its sources, with a pom.xml
	Group string // of its own modules, which are no libraries
}

// kept is its folder. Other sources have another one. What Archive has kept the JVM checks itself.
func (p Project) kept() kept.Folder {
	return kept.Folder{Name: p.Name, Sum: kept.SumOf(p.Files), Beside: archived}
}

// Found returns the folder of the project, "" where it was not compiled, or has files of another size since.
func (p Project) Found() string { return p.kept().Found() }

// FoundToRun is Found, as that of Libraries.
func (p Project) FoundToRun(get string) (where, bring string) { return foundToRun(p.kept(), get) }

// Whole compares the project that is there with its check sums.
func (p Project) Whole() error { return p.kept().Whole() }

// Get compiles the project, unless it is there and whole, fetches its libraries, and tells progress about it.
func (p Project) Get(ctx context.Context, progress io.Writer) error {
	return p.kept().Get(ctx, progress, tool, "compiles", func(run kept.Run, dir string) (string, error) {
		made := filepath.Join(dir, "made")
		if err := os.CopyFS(made, p.Files); err != nil {
			return "", err
		}
		return made, run("mvn", "-q", "-B", "-f", filepath.Join(made, "pom.xml"), "compile", "jar:jar", "dependency:copy-dependencies",
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
	return p.kept().Alone(ctx, progress, func(dir, work string) error {
		trial, cancel := context.WithTimeout(ctx, trialTime)
		defer cancel()
		made := func(i int) string { return filepath.Join(work, fmt.Sprint(i, archived)) }
		var all sync.WaitGroup
		for i, t := range missing {
			all.Go(func() {
				keep := []string{"-XX:+UseSerialGC", "-XX:ArchiveClassesAtExit=" + made(i)}
				cmd := exec.CommandContext(trial, Java(), slices.Concat(Options("256m", work, fmt.Sprint(i)), keep, t.run(dir), t.Arguments)...)
				defer kept.Dying(cmd)()
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
