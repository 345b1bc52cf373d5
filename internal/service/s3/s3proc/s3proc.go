// Package s3proc runs a server of S3, which is a process that tells of the locks in it. Its program, which the user's Go
// compiles, is in the folder _program, and its libraries are no part of gcsim.
package s3proc

import (
	"context"
	"embed"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/clients/golang"
	"github.com/fencelab/fencelab/internal/platform/ports"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

// Arg is the first argument with which Start starts the group's program as a server.
const Arg = "s3-node"

func Command() *cobra.Command { return proc.Command(Arg, "Be a server of S3", "s3") }

//go:embed _program/*.go _program/pinned.mod _program/pinned.sum
var sources embed.FS

// Program is the program of server and clients.
var Program = golang.NewCompiled("s3", golang.Agent, sources)

const getProgram = "gcsim services get s3"

// Found says where the program is; "": it is missing, and bring is the command that brings it.
func Found() (where, bring string) { return Program.FoundBy(getProgram) }

// Client is the command of a client, without its settings.
func Client() []string { return []string{Program.Path(), "client"} }

// askDeadline is for an answer of a server about itself.
const askDeadline = time.Second

// Start starts a server in g, whose program must have Command, and returns when it serves. Found must have found its
// program. It ends with the group. What it tells of the locks is to be read from its process.
func Start(ctx context.Context, g *proc.Group) (*proc.Node, error) {
	if where, bring := Found(); where == "" {
		return nil, fmt.Errorf("s3 is missing: %s", bring)
	}
	free, err := ports.Free(1)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(g.Dir, "s3")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	n := &proc.Node{Group: g, Name: "s3", Addr: free[0], Args: []string{Arg, Program.Path(), "server", dir, free[0]}}
	n.Serves = func(ctx context.Context) error { return serves(ctx, n.Addr) }
	return n, n.Restart(ctx)
}

func serves(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, askDeadline)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/health", nil)
	if err != nil {
		return err
	}
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		return fmt.Errorf("s3 answers %s", got.Status)
	}
	return nil
}
