// Package ddbproc runs DynamoDB Local, Amazon's stand-in for DynamoDB, which is a process of Java. The program of clients in
// Go, which the user's Go compiles, is in the folder _program, and its libraries are no part of gcsim.
package ddbproc

import (
	"context"
	"embed"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/golang"
	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// Arg is the first argument with which Start starts the group's program as a server.
const Arg = "dynamodb-node"

func Command() *cobra.Command { return proc.Command(Arg, "Be a DynamoDB Local", "dynamodb") }

var (
	//go:embed Node.java
	program []byte
	//go:embed pom.xml
	pom []byte
	//go:embed _program/*.go _program/pinned.mod _program/pinned.sum
	sources embed.FS
)

var (
	// libraries are DynamoDB Local and what it needs.
	libraries = maven.Libraries{Name: "dynamodb-local", POM: pom}
	// Program is the program of clients in Go.
	Program = golang.NewCompiled("dynamodb", golang.Agent, sources)
)

const get = "gcsim services get dynamodb"

// Found says where DynamoDB Local is; "": a part of what servers and clients need is missing, and bring is the command that
// brings that part.
func Found() (where, bring string) {
	if where, bring = Program.FoundBy(get); where == "" {
		return "", bring
	}
	return libraries.FoundToRun(get)
}

// Whole compares what is there with its check sums.
func Whole() error {
	if err := libraries.Whole(); err != nil {
		return err
	}
	return Program.Whole()
}

// Get brings both into the user's cache, unless they are there and whole, and tells progress about it.
func Get(ctx context.Context, progress io.Writer) error {
	if err := libraries.Get(ctx, progress); err != nil {
		return err
	}
	return Program.Get(ctx, progress)
}

// Client is the command of a client, without its settings.
func Client() []string { return []string{Program.Path()} }

// Start starts a server in g, whose program must have Command, and returns when it serves. Found must have found what it
// needs. It ends with the group, and keeps nothing on disk.
func Start(ctx context.Context, g *proc.Group) (*proc.Node, error) { return start(ctx, g, false) }

// StartKept is as Start, but the server keeps what it has in a directory of the group's: it is there when the server starts
// again.
func StartKept(ctx context.Context, g *proc.Group) (*proc.Node, error) { return start(ctx, g, true) }

func start(ctx context.Context, g *proc.Group, kept bool) (*proc.Node, error) {
	if where, bring := Found(); where == "" {
		return nil, fmt.Errorf("dynamodb is missing: %s", bring)
	}
	free, err := ports.Free(1)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(g.Dir, "dynamodb")
	if err != nil {
		return nil, err
	}
	source := filepath.Join(dir, "Node.java")
	if err := os.WriteFile(source, program, 0o600); err != nil {
		return nil, err
	}
	jars := libraries.Found()
	n := &proc.Node{Group: g, Name: "dynamodb", Addr: free[0], Args: slices.Concat(
		[]string{Arg, maven.Java(), "-Djava.net.preferIPv4Stack=true", "-Dsqlite4java.library.path=" + jars}, maven.ServerOptions("128m", dir, "node"),
		[]string{"-cp", filepath.Join(jars, "*"), source, fmt.Sprint(netip.MustParseAddrPort(free[0]).Port())})}
	if kept {
		n.Args = append(n.Args, dir)
	}
	n.Serves = func(ctx context.Context) error {
		_, err := Ask(ctx, n.Addr, "ListTables", []byte("{}"))
		return err
	}
	return n, n.Restart(ctx)
}
