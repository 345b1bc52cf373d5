package golang

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fencelab/fencelab/internal/clients/kept"
)

var tool = kept.Tool{Name: "Go", Program: "go", Install: "https://go.dev/doc/install", Help: "it needs the network, or a mirror in GOPROXY"}

// Compiled is a program that the user's Go compiles once, against the versions that its pinned.mod names. Its libraries
// are no part of gcsim.
type Compiled struct {
	kept.Folder
	sources []fs.FS
}

// NewCompiled is the program of the files in sources, in whatever folders they are. Its own go.mod would keep a folder
// out of gcsim, so that pinned.mod and pinned.sum take the place of go.mod and go.sum.
func NewCompiled(name string, sources ...fs.FS) Compiled {
	return Compiled{kept.Folder{Name: name, Sum: kept.SumOf(sources...)}, sources}
}

// Get compiles it into the user's cache, unless it is there and whole, and tells progress about it.
func (c Compiled) Get(ctx context.Context, progress io.Writer) error {
	return c.Folder.Get(ctx, progress, tool, "compiles", func(run kept.Run, dir string) (string, error) {
		made := filepath.Join(dir, "made")
		if err := c.CopyTo(dir); err != nil {
			return "", err
		}
		return made, run(tool.Program, "build", "-C", dir, "-ldflags=-s -w", "-o", executable(made), ".") // nobody debugs it
	})
}

// CopyTo copies the module of the program.
func (c Compiled) CopyTo(dir string) error {
	for _, files := range c.sources {
		err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			source, err := fs.ReadFile(files, name)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, strings.Replace(filepath.Base(name), "pinned.", "go.", 1)), source, 0o644)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Path is the program, where it was found.
func (c Compiled) Path() string { return executable(c.Found()) }

func executable(folder string) string { return filepath.Join(folder, "peer") }
