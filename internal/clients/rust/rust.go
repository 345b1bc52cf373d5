// Package rust is the program of clients in Rust: the locks of others as they are. Package peer has a client take its
// locks by it. The program is in the folder peer; the user's own Cargo compiles it, with the versions of Cargo.lock. A
// library is a file there.
package rust

import (
	"context"
	"embed"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fencelab/fencelab/internal/clients/kept"
	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Name is what the command calls it that brings it.
const Name = "rust"

// Prefix begins the names of its recipes, and service.Service.Peer's.
const Prefix = Name + "/"

//go:embed peer/Cargo.toml peer/Cargo.lock peer/src
var sources embed.FS

var tool = kept.Tool{
	Name: "Cargo", Program: "cargo", Install: "https://rustup.rs",
	Help: "it needs the network, or a mirror in Cargo's settings, and protoc: apt-get install protobuf-compiler libprotobuf-dev",
}

var program = kept.Folder{Name: "rust-peer", Sum: kept.SumOf(sources)}

// Found says where it is; "": something is missing, and bring is the command that brings it.
func Found() (where, bring string) { return program.FoundBy("gcsim services get " + Name) }

// Whole compares the program that is there with its check sum.
func Whole() error { return program.Whole() }

// Get brings it into the user's cache, unless it is there and whole, and tells progress about it.
func Get(ctx context.Context, progress io.Writer) error {
	return program.Get(ctx, progress, tool, "compiles", func(run kept.Run, dir string) (string, error) {
		of, err := fs.Sub(sources, "peer")
		if err == nil {
			err = os.CopyFS(filepath.Join(dir, "peer"), of)
		}
		if err != nil {
			return "", err
		}
		made := filepath.Join(dir, "made")
		return made, run(tool.Program, "install", "--quiet", "--locked", "--no-track", "--path", filepath.Join(dir, "peer"), "--root", made,
			"--target-dir", filepath.Join(dir, "target"))
	})
}

// Program is the command of a client that takes its locks by a library, which the setting "by" names.
func Program(_, _, _ string, _ setting.Values) peer.Program {
	return peer.Program{Language: "Rust", Command: []string{filepath.Join(program.Found(), "bin", "fencelab-peer")}}
}
