package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// TestMain refuses to be a process of a run: no test here makes one, and one by mistake
// would start these tests again and again.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		fmt.Fprintln(os.Stderr, "a test of gcsim made a run")
		os.Exit(2)
	}
	m.Run()
}

// TestHelpIsOfCommands: each text among helps belongs to a command.
func TestHelpIsOfCommands(t *testing.T) {
	texts, err := fs.Glob(helps, "help/*.txt")
	if err != nil || len(texts) == 0 {
		t.Fatalf("texts %q, %v", texts, err)
	}
	for _, file := range texts {
		name := strings.TrimSuffix(path.Base(file), ".txt")
		root := command()
		for _, line := range [][]string{{}, {name}, {"services", name}} {
			if cmd, _, err := root.Find(line); err == nil && cmd.Name() == name && cmd.Long != "" {
				name = ""
			}
		}
		if name != "" {
			t.Errorf("%s is of no command", file)
		}
	}
}

// TestTooFewProcesses: gcsim says so before it begins what it could not end.
func TestTooFewProcesses(t *testing.T) {
	if err := enough(30); err == nil || !strings.Contains(err.Error(), "ulimit -u") {
		t.Errorf("30: %v", err)
	}
	if err := enough(leastProcesses); err != nil {
		t.Error(err)
	}
}
