// Command release gives all modules of the repository one version: where they require
// each other, in a commit, and as tags. It publishes nothing, and says at the end what
// does.
//
//	go run ./internal/tools/release v0.2.0
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "release: which version? release v0.2.0")
		os.Exit(2)
	}
	if err := release(".", os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release makes the commit and the tags in the repository at root. Where it returns an
// error before the first tag, nothing is tagged.
func release(root, version string, stdout io.Writer) error {
	if err := checkVersion(version); err != nil {
		return err
	}
	modules, err := readModules(root)
	if err != nil {
		return err
	}
	tags := tagsOf(modules, version)
	if err := checkRepository(root, tags); err != nil {
		return err
	}
	if err := setVersion(root, modules, version); err != nil {
		return err
	}
	if changed, err := git(root, "status", "--porcelain"); err != nil {
		return err
	} else if changed != "" {
		if _, err := git(root, "commit", "--all", "--message", "release: "+version); err != nil {
			return err
		}
	}
	for _, tag := range tags {
		if _, err := git(root, "tag", "--annotate", "--message", tag, tag); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "Tagged. What publishes it:\n  git push --atomic origin HEAD %s\n", strings.Join(tags, " "))
	return nil
}

// tagsOf are the names by which Go finds a version of the modules.
func tagsOf(modules []module, version string) (tags []string) {
	for _, m := range modules {
		if m.folder == "." {
			tags = append(tags, version)
		} else {
			tags = append(tags, m.folder+"/"+version)
		}
	}
	return tags
}

// checkRepository returns an error where there is something to lose or to mix up.
func checkRepository(root string, tags []string) error {
	changed, err := git(root, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("there are changes that are not committed: commit or stash them\n%s", changed)
	}
	there, err := git(root, append([]string{"tag", "--list"}, tags...)...)
	if err != nil {
		return err
	}
	if there != "" {
		return fmt.Errorf("tags are there already; a version that was published stays as it is: take the next\n%s", there)
	}
	return nil
}

func git(root string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}
