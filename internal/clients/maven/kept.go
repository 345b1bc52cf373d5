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

// found returns the folder, "" where it is not there.
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

// run runs Maven.
func run(ctx context.Context, program string, args []string) error {
	cmd := exec.CommandContext(ctx, program, append([]string{"-q", "-B"}, args...)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("mvn failed (%w); it needs the network, or a mirror in ~/.m2/settings.xml; it said:\n%s",
			errors.Join(err, context.Cause(ctx)), strings.TrimSpace(string(out)))
	}
	return nil
}
