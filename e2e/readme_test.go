package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// elsewhere are commands of README and of the tour that other tests type, and those that
// TestReadmeCommands types in another way.
var elsewhere = map[string]string{
	"git clone https://github.com/fencelab/fencelab && cd fencelab":         "", // this is a clone
	"go mod edit -replace github.com/fencelab/fencelab/pkg=../fencelab/pkg": "", // package modules
	"go test ./...":                   "", // this is a part of it
	"go run ./cmd/gcsim":              "", // TestMainStory
	"go tool goreman start":           "", // TestGoreman
	"go run ./cmd/gcsim serve":        "", // TestWebPagesReachNothing
	"go run ./cmd/gcsim etcd":         "", // TestContribLockWalkThrough
	"go run ./cmd/storage":            "",
	"go run ./cmd/client 1":           "",
	"go run ./cmd/client 2":           "",
	"go run ./cmd/client who /backup": "", // TestWho
	`go run ./cmd/client exec --lock /backup -- sh -c 'echo "I hold $FENCING_SCOPE, token $FENCING_TOKEN"'`: "", // TestExec
	// Package e2e judges the storage in Python by all laws elsewhere, which takes a minute.
	"go run ./cmd/gcsim laws --command 'python3 examples/storage/storage.py --listen {addr} --dir {dir}'": "go run ./cmd/gcsim laws --law RestartKeepsMark --command 'python3 examples/storage/storage.py --listen {addr} --dir {dir}'",
	"go build ./cmd/gcsim && ./gcsim run gc-pause --junit junit.xml --json > runs.json":                   "go run ./cmd/gcsim run gc-pause --junit junit.xml --json > runs.json",
	"go run ./cmd/gcsim run -o gcsim-out":                                                                 "go run ./cmd/gcsim run -o gcsim-out gc-pause",
	"go run ./cmd/gcsim pause --pid 4711 --for 2s":                                                        "go run ./cmd/gcsim pause --pid $$ --for 1ms",
}

// TestReadmeCommands types the commands of README and of the tour one after the other, in a
// directory that has the folders of a clone which they name.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	need.Time(t, "to type all commands of README")
	need.Programs(t, "to run the examples", "python3", "node")
	w := newWorld(t)
	dir := t.TempDir()
	for _, name := range []string{"examples", "scenarios"} {
		path, err := filepath.Abs("../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	left := maps.Clone(elsewhere)
	for _, document := range []string{"../README.md", "../docs/tour.md"} {
		for _, command := range commandsOf(read(t, document)) {
			delete(left, command)
			if instead, other := elsewhere[command]; other {
				command = instead
			}
			if command == "" {
				continue
			}
			p := w.prepare("/bin/sh", "-c", strings.ReplaceAll(command, "go run ./cmd/", bin+"/"))
			p.cmd.Dir = dir
			if err := p.start(); err != nil {
				t.Fatal(err)
			}
			p.want(0)
		}
	}
	if len(left) > 0 {
		t.Errorf("neither README nor the tour has these commands: %q", slices.Collect(maps.Keys(left)))
	}
}

// commandsOf are the lines of the code blocks of a document that begin with a program,
// without their comments.
func commandsOf(document string) (commands []string) {
	for _, line := range regexp.MustCompile(`(?m)^    ((?:go|git) .*)$`).FindAllStringSubmatch(document, -1) {
		command, _, _ := strings.Cut(line[1], "  #")
		commands = append(commands, strings.TrimSpace(command))
	}
	return commands
}
