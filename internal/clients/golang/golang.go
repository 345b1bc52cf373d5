// Package golang is the program of clients in Go: the locks of others as they are. Package peer has a client take its
// locks by it. The program is in the folder peer, and linked into no other one: the user's Go compiles it, against the
// versions that pinned.mod names. A library is a file there.
package golang

import (
	"context"
	"embed"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/fencelab/fencelab/internal/clients/kept"
	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Name is what the command calls it that brings it.
const Name = "go"

// Prefix begins the names of its recipes, and service.Service.Peer's.
const Prefix = Name + "/"

//go:embed peer/*.go peer/pinned.mod peer/pinned.sum
var sources embed.FS

var tool = kept.Tool{Name: "Go", Program: "go", Install: "https://go.dev/doc/install", Help: "it needs the network, or a mirror in GOPROXY"}

var program = kept.Folder{Name: "go-peer", Sum: kept.SumOf(sources)}

// Found says where it is; "": something is missing, and bring is the command that brings it.
func Found() (where, bring string) { return program.FoundBy("gcsim services get " + Name) }

// Whole compares the program that is there with its check sum.
func Whole() error { return program.Whole() }

// Get brings it into the user's cache, unless it is there and whole, and tells progress about it.
func Get(ctx context.Context, progress io.Writer) error {
	return program.Get(ctx, progress, tool, "compiles", func(run kept.Run, dir string) (string, error) {
		made := filepath.Join(dir, "made")
		if err := copySources(dir); err != nil {
			return "", err
		}
		return made, run(tool.Program, "build", "-C", dir, "-o", executable(made), ".")
	})
}

// copySources copies the module of the program. Its own go.mod would keep its folder out of gcsim.
func copySources(dir string) error {
	files, err := sources.ReadDir("peer")
	for _, file := range files {
		var source []byte
		if source, err = sources.ReadFile("peer/" + file.Name()); err == nil {
			err = os.WriteFile(filepath.Join(dir, strings.Replace(file.Name(), "pinned.", "go.", 1)), source, 0o644)
		}
		if err != nil {
			break
		}
	}
	return err
}

func executable(folder string) string { return filepath.Join(folder, "peer") }

// Program is the command of a client that takes its locks by a library, which the setting "by" names.
func Program(_, _, _ string, _ setting.Values) peer.Program {
	return peer.Program{Language: "Go", Command: []string{executable(program.Found())}}
}
