// Package maven fetches libraries of Java by the user's own Maven, once.
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

// Libraries are jars.
type Libraries struct {
	Name string // of their folder
	POM  []byte // a pom.xml whose dependencies they are
	// Unpack, unless it is nil, makes of the folder of the jars what it is to be.
	Unpack func(dir string) error
}

// dir is the folder in which they are kept. A POM with other versions has another one.
func (l Libraries) dir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%s: no folder to keep it in: %w", l.Name, err)
	}
	sum := sha256.Sum256(l.POM)
	return filepath.Join(cache, "fencelab", fmt.Sprintf("%s-%x", l.Name, sum[:4])), nil
}

// Found returns the folder of the jars, "" where they are not there. It is in the user's
// cache: see os.UserCacheDir.
func (l Libraries) Found() string {
	dir, err := l.dir()
	if err != nil {
		return ""
	}
	if _, err := os.Stat(dir); err != nil {
		return ""
	}
	return dir
}

// InstallJava is the command that brings Java.
const InstallJava = "apt-get install default-jdk-headless"

// Java is the program that runs jars, "" where there is none.
func Java() string {
	path, _ := exec.LookPath("java")
	return path
}

// FoundToRun is as Found, and "" where Java is missing. Then bring is the command that brings
// what is missing; that for the jars is get.
func (l Libraries) FoundToRun(get string) (where, bring string) {
	if Java() == "" {
		return "", InstallJava
	}
	return l.Found(), get
}

// Get fetches the jars, and tells progress about it. Where they are there it returns at once.
func (l Libraries) Get(ctx context.Context, progress io.Writer) error {
	if l.Found() != "" {
		return nil
	}
	dir, err := l.dir()
	if err != nil {
		return err
	}
	program, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("%s is fetched by Maven, and Maven is missing: %s", l.Name, Install)
	}
	fmt.Fprintf(progress, "%s: Maven fetches it into %s\n", l.Name, dir)
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("%s: %w; set XDG_CACHE_HOME to a directory in which files can be made", l.Name, err)
	}
	fetching, err := os.MkdirTemp(filepath.Dir(dir), l.Name+"-fetching-")
	if err != nil {
		return fmt.Errorf("%s: %w; set XDG_CACHE_HOME to a directory in which files can be made", l.Name, err)
	}
	defer os.RemoveAll(fetching)
	if err := l.fetch(ctx, program, fetching); err != nil {
		return err
	}
	if l.Unpack != nil {
		if err := l.Unpack(filepath.Join(fetching, "jars")); err != nil {
			return fmt.Errorf("%s: unpack what Maven has fetched: %w", l.Name, err)
		}
	}
	// Whoever is here at the same time has fetched the same.
	if err := os.Rename(filepath.Join(fetching, "jars"), dir); err != nil && l.Found() == "" {
		return fmt.Errorf("%s: %w", l.Name, err)
	}
	return nil
}

// fetch runs Maven, and leaves the jars in the folder "jars" below dir.
func (l Libraries) fetch(ctx context.Context, program, dir string) error {
	pom := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(pom, l.POM, 0o644); err != nil {
		return fmt.Errorf("%s: %w", l.Name, err)
	}
	cmd := exec.CommandContext(ctx, program, "-q", "-B", "-f", pom, "dependency:copy-dependencies",
		"-DincludeScope=runtime", "-DoutputDirectory="+filepath.Join(dir, "jars"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: Maven failed (%w); it needs the network, or a mirror in ~/.m2/settings.xml; it said:\n%s",
			l.Name, errors.Join(err, context.Cause(ctx)), strings.TrimSpace(string(out)))
	}
	return nil
}
