package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/semver"
)

// module is one of the repository.
type module struct {
	path   string // by which it is imported
	folder string // where it is, from the root, as "." or "pkg/lock/etcdlock"
}

// readModules returns the modules that go.work uses, the root's first.
func readModules(root string) ([]module, error) {
	name := filepath.Join(root, "go.work")
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork(name, text, nil)
	if err != nil {
		return nil, err
	}
	var all []module
	for _, use := range work.Use {
		folder := path.Clean(use.Path)
		name := filepath.Join(root, folder, "go.mod")
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		all = append(all, module{modfile.ModulePath(text), folder})
	}
	if len(all) == 0 || all[0].folder != "." {
		return nil, fmt.Errorf("%s: want that it uses . first", name)
	}
	return all, nil
}

// checkVersion takes what Go takes for a version of modules whose paths end in no
// /v2.
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

// setVersion has go.work and each go.mod say this version of the repository's
// modules, and the action get it.
func setVersion(root string, modules []module, version string) error {
	own := regexp.MustCompile(`(?m)(\s` + regexp.QuoteMeta(modules[0].path) + `(?:/\S+)? )v\S+`)
	places := map[string]*regexp.Regexp{"go.work": own, actionFile: actionVersion}
	for _, m := range modules {
		places[filepath.Join(m.folder, "go.mod")] = own
	}
	for file, place := range places {
		name := filepath.Join(root, file)
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(name, place.ReplaceAll(text, []byte("${1}"+version)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
