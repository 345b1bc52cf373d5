// Package python is the programs of clients in Python: the locks of others as they are. Package peer has a client take
// its locks by them. agent.py does for all what package peer tells it; a library is a file beside it, of which the
// recipe has the name.
package python

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
const Name = "python"

// Prefix begins the names of their recipes, and service.Service.Peer's.
const Prefix = Name + "/"

//go:embed *.py
var sources embed.FS

//go:embed requirements.txt
var requirements embed.FS

// Install is the command that brings Python, and what makes a folder for its libraries.
const Install = "apt-get install python3-venv"

var tool = kept.Tool{Name: "Python", Program: "python3", Install: Install, Help: "it needs the network, or a mirror in pip's settings, and " + Install}

// The libraries are a virtual environment, which does not change where only the programs do.
var (
	libraries = kept.Folder{Name: "python-libraries", Sum: kept.SumOf(requirements)}
	programs  = kept.Folder{Name: "python-peers", Sum: kept.SumOf(sources)}
)

// Found says where they are; "": something is missing, and bring is the command that brings it.
func Found() (where, bring string) {
	const get = "gcsim services get " + Name
	if where, bring := libraries.FoundBy(get); where == "" {
		return "", bring
	}
	return programs.FoundBy(get)
}

// Whole compares those that are there with their check sums.
func Whole() error { return errors.Join(libraries.Whole(), programs.Whole()) }

// Get brings them into the user's cache, unless they are there and whole, and tells progress about it.
func Get(ctx context.Context, progress io.Writer) error {
	err := libraries.Get(ctx, progress, tool, "fetches", func(run kept.Run, dir string) (string, error) {
		made := filepath.Join(dir, "made")
		python, pinned := interpreter(made), filepath.Join(dir, "requirements.txt")
		for _, do := range []func() error{
			func() error { return os.CopyFS(dir, requirements) },
			func() error {
				python, err := version()
				if err != nil {
					return err
				}
				return run(python, "-m", "venv", made)
			},
			func() error {
				return run(python, "-m", "pip", "--disable-pip-version-check", "install", "-q", "--no-deps", "-r", pinned)
			},
			// What they need can depend on the version of Python.
			func() error { return run(python, "-m", "pip", "--disable-pip-version-check", "check") },
			// It is most of the files, and nobody needs it again.
			func() error { return run(python, "-m", "pip", "uninstall", "-q", "-y", "setuptools", "pip") },
		} {
			if err := do(); err != nil {
				return "", err
			}
		}
		return made, nil
	})
	if err != nil {
		return err
	}
	return programs.Get(ctx, progress, tool, "has", func(_ kept.Run, dir string) (string, error) {
		made := filepath.Join(dir, "made")
		return made, os.CopyFS(made, sources)
	})
}

// version is Python by the name that only this version has. A virtual environment with a link to another name would find
// none of its libraries when that name leads to a later version.
func version() (string, error) {
	python, err := exec.LookPath(tool.Program)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(python)
}

// interpreter is the Python of a virtual environment.
func interpreter(venv string) string { return filepath.Join(venv, "bin", "python") }

// Program is the command of the client that takes its locks by a library. It writes no bytecode: what is kept stays as it is.
func Program(library, _, _ string, _ setting.Values) peer.Program {
	source := "of_" + strings.ReplaceAll(library, "-", "_") + ".py"
	return peer.Program{
		Language: "Python",
		Command:  []string{interpreter(libraries.Found()), "-E", "-s", "-B", filepath.Join(programs.Found(), source)},
	}
}
