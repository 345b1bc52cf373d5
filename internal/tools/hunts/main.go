// Command hunts hunts in the world of each variant that gcsim brings for some lock services, one after the other, and adds
// a line of JSON to a file for each. What the file has already is not hunted again: Ctrl-C or SIGTERM stops the hunts, and the
// same command goes on with the world that was under way. With -table it prints what the file has as a table.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/fencelab/fencelab/internal/platform/fail"
)

// result is what a hunt in the world of a variant came to.
type result struct {
	World    string          `json:"world"`
	Control  bool            `json:"control"`
	Stories  int             `json:"stories"`
	Findings json.RawMessage `json:"findings"`
	Error    string          `json:"error,omitempty"` // why there was no hunt
}

type finding struct {
	Kind        string
	Story       int
	Steps       int
	Small       []string
	Seen, Again int
}

func main() {
	file := flag.String("file", "hunts.jsonl", "what is added to")
	long := flag.String("for", "60s", "how long each hunt lasts")
	safe := flag.Bool("safe", false, "the variants that are protected, in place of the controls")
	side := flag.Int("j", 0, "how many stories are told side by side (default: as many as gcsim hunt tells)")
	table := flag.Bool("table", false, "print the file as a table, and hunt nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := fail.Caught(func() {
		known := read(*file)
		if *table {
			print(os.Stdout, known)
			return
		}
		args := []string{"--for", *long, "--json"}
		if *side > 0 {
			args = append(args, "-j", fmt.Sprint(*side))
		}
		hunt(ctx, *file, *safe, flag.Args(), known, args)
	}); err != nil {
		fmt.Fprintln(os.Stderr, "hunts:", err)
		os.Exit(1)
	}
}

func read(file string) (known []result) {
	data, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	fail.If(err)
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var r result
		fail.If(d.Decode(&r))
		known = append(known, r)
	}
	return known
}

// hunt hunts in each world that is not known yet.
func hunt(ctx context.Context, file string, safe bool, services []string, known []result, args []string) {
	dir := fail.Must(os.MkdirTemp("", "hunts-"))
	defer os.RemoveAll(dir)
	gcsim := filepath.Join(dir, "gcsim")
	build := exec.CommandContext(ctx, "go", "build", "-o", gcsim, "./cmd/gcsim")
	build.Stderr = os.Stderr
	fail.If(build.Run())
	var list []struct {
		ID, Service string
		Variants    []struct {
			Name    string
			Control bool
		}
	}
	fail.If(json.Unmarshal(fail.Must(exec.Command(gcsim, "list", "--json").Output()), &list))
	out := fail.Must(os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666))
	defer out.Close()
	for _, s := range list {
		for _, v := range s.Variants {
			world := s.ID + "/" + v.Name
			done := slices.ContainsFunc(known, func(r result) bool { return r.World == world })
			if !slices.Contains(services, s.Service) || v.Control == safe || done {
				continue
			}
			r := result{World: world, Control: v.Control}
			said, err := interruptible(exec.CommandContext(ctx, gcsim, append([]string{"hunt", world}, args...)...)).Output()
			if ctx.Err() != nil {
				return
			}
			if wrong := json.Unmarshal(said, &r); wrong != nil {
				r.Error = ": " + strings.TrimSpace(string(stderr(err)))
			}
			fmt.Println(world, r.Stories, r.Error)
			fail.If(json.NewEncoder(out).Encode(r))
		}
	}
}

// interruptible is a command that ends by Ctrl-C, and then what it has started.
func interruptible(cmd *exec.Cmd) *exec.Cmd {
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	return cmd
}

// stderr is what a command said that failed.
func stderr(err error) []byte {
	if exit, is := errors.AsType[*exec.ExitError](err); is {
		return exit.Stderr
	}
	return nil
}

func print(w io.Writer, known []result) {
	fmt.Fprint(w, "| world | found | story | steps | left | again |\n|---|---|---|---|---|---|\n")
	for _, r := range known {
		var found []finding
		if len(r.Findings) > 0 {
			fail.If(json.Unmarshal(r.Findings, &found))
		}
		if len(found) == 0 {
			fmt.Fprintf(w, "| `%s` | nothing%s | %d | | | |\n", r.World, r.Error, r.Stories)
			continue
		}
		f := found[0]
		fmt.Fprintf(w, "| `%s` | %s | %d | %d | %d | %d of %d |\n", r.World, f.Kind, f.Story, f.Steps, len(f.Small), f.Seen, f.Again)
	}
}
