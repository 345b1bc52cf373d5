// Package golang is the program of clients in Go: the locks of others as they are. Package peer has a client take its
// locks by it. The program is in the folder peer, and linked into no other one. A library is a file there.
package golang

import (
	"context"
	"embed"
	"io"

	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Name is what the command calls it that brings it.
const Name = "go"

// Prefix begins the names of its recipes, and service.Service.Peer's.
const Prefix = Name + "/"

//go:embed peer/*.go peer/pinned.mod peer/pinned.sum
var sources embed.FS

// Agent is what each program of a client in Go has: it obeys package peer. The locks are the program's own.
//
//go:embed peer/agent.go peer/settings.go
var Agent embed.FS

var program = NewCompiled("go-peer", sources)

// Found says where it is; "": something is missing, and bring is the command that brings it.
func Found() (where, bring string) { return program.FoundBy("gcsim services get " + Name) }

// Whole compares the program that is there with its check sum.
func Whole() error { return program.Whole() }

// Get brings it into the user's cache, unless it is there and whole, and tells progress about it.
func Get(ctx context.Context, progress io.Writer) error { return program.Get(ctx, progress) }

// Program is the command of a client that takes its locks by a library, which the setting "by" names.
func Program(_, _, _ string, _ setting.Values) peer.Program {
	return peer.Program{Language: "Go", Command: []string{program.Path()}}
}
