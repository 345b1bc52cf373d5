// Package maven fetches libraries of Java, and compiles programs, by the user's own Maven, once.
package maven

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// Found returns the folder of the jars in the user's cache, "" where they are not there.
func (l Libraries) Found() string { return l.kept().found() }

// FoundToRun is Found, and "" where Java is missing. bring is what brings it, or the jars: get.
func (l Libraries) FoundToRun(get string) (where, bring string) {
	if Java() == "" {
		return "", InstallJava
	}
	return l.Found(), get
}

// Get fetches the jars, and tells progress about it. Where they are there it returns at once.
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
		return "", fmt.Errorf("%s: no folder to keep it in: %w", k.name, err)
	}
	return filepath.Join(cache, "fencelab", fmt.Sprintf("%s-%x", k.name, k.sum[:4])), nil
}

func (k kept) found() string {
	dir, err := k.dir()
	if err != nil {
		return ""
	}
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// making makes a folder below dir, which is empty, and returns its path. run runs Maven.
type making func(run func(args ...string) error, dir string) (made string, err error)

// get has the folder made, unless it is there. does says what Maven does.
func (k kept) get(ctx context.Context, progress io.Writer, does string, make making) error {
	if k.found() != "" {
		return nil
	}
	dir, err := k.dir()
	if err != nil {
		return err
	}
	program, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("%s: Maven %s it, and Maven is missing: %s", k.name, does, Install)
	}
	fmt.Fprintf(progress, "%s: Maven %s it into %s\n", k.name, does, dir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("%s: %w; set XDG_CACHE_HOME to a directory in which files can be made", k.name, err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), k.name+"-fetching-")
	if err != nil {
		return fmt.Errorf("%s: %w; set XDG_CACHE_HOME to a directory in which files can be made", k.name, err)
	}
	defer os.RemoveAll(work)
	made, err := make(func(args ...string) error { return run(ctx, program, args) }, work)
	if err != nil {
		return fmt.Errorf("%s: %w", k.name, err)
	}
	// Whoever is here at the same time has made the same.
	if err := os.Rename(made, dir); err != nil && k.found() == "" {
		return fmt.Errorf("%s: %w", k.name, err)
	}
	return nil
}

func run(ctx context.Context, program string, args []string) error {
	cmd := exec.CommandContext(ctx, program, append([]string{"-q", "-B"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("mvn failed (%w); it needs the network, or a mirror in ~/.m2/settings.xml; it said:\n%s",
			errors.Join(err, context.Cause(ctx)), strings.TrimSpace(string(out)))
	}
	return nil
}
