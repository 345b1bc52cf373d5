// Package maven fetches libraries of Java, and compiles programs, by the user's own Maven, once.
package maven

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
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

// kept is their folder. A POM with other versions has another one.
func (l Libraries) kept() kept { return kept{l.Name, sha256.Sum256(l.POM)} }

// Found returns the folder of the jars, "" where they are not there. It is in the user's
// cache: see os.UserCacheDir.
func (l Libraries) Found() string { return l.kept().found() }

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
