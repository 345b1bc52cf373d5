// Command release gives all modules of the repository one version: where they require each other, in a
// commit, and as tags of those that others can require. It publishes nothing, and says at the end what does.
//
//	go run ./internal/tools/release v0.2.0
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"

	"github.com/fencelab/fencelab/internal/platform/fail"
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
	return fail.Caught(func() {
		fail.If(checkVersion(version))
		modules := fail.Must(readModules(root))
		var tags []string // by which Go finds this version of each module
		for _, m := range modules {
			if m.published() {
				tags = append(tags, path.Join(m.folder, version))
			}
		}
		checkRepository(root, tags)
		setVersion(root, modules, version)
		if git(root, "status", "--porcelain") != "" {
			git(root, "commit", "--all", "--message", "release: "+version)
		}
		for _, tag := range tags {
			git(root, "tag", "--annotate", "--message", tag, tag)
		}
		fmt.Fprintf(stdout, "Tagged. What publishes it:\n  git push --atomic origin HEAD %s\n", strings.Join(tags, " "))
	})
}

// checkRepository fails where there is something to lose or to mix up.
func checkRepository(root string, tags []string) {
	if changed := git(root, "status", "--porcelain"); changed != "" {
		fail.If(fmt.Errorf("there are changes that are not committed: commit or stash them\n%s", changed))
	}
	if there := git(root, append([]string{"tag", "--list"}, tags...)...); there != "" {
		fail.If(fmt.Errorf("tags are there already; a version that was published stays as it is: take the next\n%s", there))
	}
}

func git(root string, args ...string) string {
	out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	if err != nil {
		fail.If(fmt.Errorf("git %s: %w", strings.Join(args, " "), err))
	}
	return string(out)
}

type module struct {
	path   string // by which it is imported
	folder string // where it is, from the root, as "." or "pkg/lock/etcdlock"
}

// published reports whether others can require it.
func (m module) published() bool { return !strings.HasPrefix(m.folder, "internal/") }

// readModules returns the modules that go.work uses, the root's first.
func readModules(root string) (all []module, err error) {
	err = fail.Caught(func() {
		name := filepath.Join(root, "go.work")
		work := fail.Must(modfile.ParseWork(name, fail.Must(os.ReadFile(name)), nil))
		for _, use := range work.Use {
			folder := path.Clean(use.Path)
			text := fail.Must(os.ReadFile(filepath.Join(root, folder, "go.mod")))
			all = append(all, module{modfile.ModulePath(text), folder})
		}
		if len(all) == 0 || all[0].folder != "." {
			fail.If(fmt.Errorf("%s: want that it uses . first", name))
		}
	})
	return all, err
}

// checkVersion takes what Go takes for a version of modules whose paths end in no /v2.
func checkVersion(version string) error {
	if semver.Canonical(version) != version || semver.Build(version) != "" {
		return fmt.Errorf("%q is no version: want one like v0.2.0 or v0.2.0-rc.1", version)
	}
	if major := semver.Major(version); major != "v0" && major != "v1" {
		return fmt.Errorf("%s: the paths of the modules would have to end in /%s", version, major)
	}
	return nil
}

// actionFile is the GitHub Action, which gets a release's gcsim.
const actionFile = "action.yml"

// actionVersion finds the version in the action: what stands before it, and it.
var actionVersion = regexp.MustCompile(`(?m)(default: )(v\S+)`)

// setVersion has go.work and each go.mod say this version of the repository's modules, and the action get it.
func setVersion(root string, modules []module, version string) {
	own := regexp.MustCompile(`(?m)(\s` + regexp.QuoteMeta(modules[0].path) + `(?:/\S+)? )v\S+`)
	places := map[string]*regexp.Regexp{"go.work": own, actionFile: actionVersion}
	for _, m := range modules {
		places[filepath.Join(m.folder, "go.mod")] = own
	}
	for file, place := range places {
		name := filepath.Join(root, file)
		text := fail.Must(os.ReadFile(name))
		fail.If(os.WriteFile(name, place.ReplaceAll(text, []byte("${1}"+version)), 0o644))
	}
}
