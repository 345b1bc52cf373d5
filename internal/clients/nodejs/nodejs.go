// Package nodejs is the programs of clients in JavaScript, for Node: the locks of others as they are. Package peer has a
// client take its locks by them. agent.mjs does for all what package peer tells it; a library is a file beside it, of
// which the recipe has the name.
package nodejs

import (
	"context"
	"embed"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fencelab/fencelab/internal/clients/kept"
	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Name is what the command calls them that brings them.
const Name = "node"

// Prefix begins the names of their recipes, and service.Service.Peer's.
const Prefix = Name + "/"

//go:embed *.mjs
var sources embed.FS

//go:embed package.json package-lock.json
var wanted embed.FS

// Install is the command that brings Node, and what fetches its libraries.
const Install = "apt-get install nodejs npm"

var tool = kept.Tool{Name: "npm", Program: "npm", Install: Install, Help: "it needs the network, or a mirror in npm's settings"}

// The libraries have a folder of their own, which does not change where only the programs do.
var (
	libraries = kept.Folder{Name: "node-libraries", Sum: kept.SumOf(wanted)}
	programs  = kept.Folder{Name: "node-peers", Sum: kept.SumOf(sources)}
)

// Found says where they are; "": something is missing, or Node is, and bring is the command that brings it.
func Found() (where, bring string) {
	const get = "gcsim services get " + Name
	where, bring = libraries.FoundBy(get)
	if where != "" {
		where, bring = programs.FoundBy(get)
	}
	if _, err := exec.LookPath("node"); where != "" && err != nil {
		return "", Install
	}
	return where, bring
}

// Whole compares those that are there with their check sums.
func Whole() error { return errors.Join(libraries.Whole(), programs.Whole()) }

// Get brings them into the user's cache, unless they are there and whole, and tells progress about it. Programs find
// libraries in a folder above their own.
func Get(ctx context.Context, progress io.Writer) error {
	err := libraries.Get(ctx, progress, tool, "fetches", func(run kept.Run, dir string) (string, error) {
		if err := os.CopyFS(dir, wanted); err != nil {
			return "", err
		}
		return dir, run(tool.Program, "ci", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund")
	})
	if err != nil {
		return err
	}
	return programs.Get(ctx, progress, tool, "has", func(_ kept.Run, dir string) (string, error) {
		made := filepath.Join(dir, "made")
		if err := os.CopyFS(made, sources); err != nil {
			return "", err
		}
		return made, os.Symlink(filepath.Join(libraries.Found(), "node_modules"), filepath.Join(made, "node_modules"))
	})
}

// Program is the command of the client that takes its locks by a library.
func Program(library, _, _ string, _ setting.Values) peer.Program {
	source := "of_" + strings.ReplaceAll(library, "-", "_") + ".mjs"
	return peer.Program{Language: "JavaScript", Command: []string{"node", filepath.Join(programs.Found(), source)}}
}
