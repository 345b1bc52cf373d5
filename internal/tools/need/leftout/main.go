// Command leftout runs a command that runs tests, and then prints once which tests were left out, by what
// they need and what brings it. Its exit status is the command's.
//
//	go run ./internal/tools/need/leftout go test ./...
//
// With -again it prints what has go test run the tests that were left out, by an account of
// them (see need.Account): a line for each package, with the flag -run.
//
//	go run ./internal/tools/need/leftout -again ACCOUNT | xargs -L 1 go test
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/tools/need"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "leftout: which command? leftout go test ./...")
		os.Exit(2)
	}
	var status int
	var err error
	if os.Args[1] == "-again" && len(os.Args) == 3 {
		err = again(os.Args[2], os.Stdout)
	} else {
		status, err = run(os.Args[1:], os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "leftout:", err)
		status = 1
	}
	os.Exit(status)
}

func run(command []string, stdout, stderr io.Writer) (status int, err error) {
	account, err := os.CreateTemp("", "fencelab-left-out-")
	if err != nil {
		return 0, err
	}
	defer os.Remove(account.Name())
	defer account.Close()
	// The command gets Ctrl-C too, and ends. (What is ignored it would inherit.)
	signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), need.Account+"="+account.Name())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, stderr
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return 0, err
	}
	all, err := read(account)
	if err != nil {
		return 0, err
	}
	fmt.Fprint(stdout, "\n", summary(all))
	return cmd.ProcessState.ExitCode(), nil
}

// again prints what runs the tests of an account once more.
func again(account string, to io.Writer) error {
	f, err := os.Open(account)
	if err != nil {
		return err
	}
	defer f.Close()
	all, err := read(f)
	if err != nil {
		return err
	}
	tests := make(map[string][]string)
	for _, l := range all {
		_, name, _ := strings.Cut(l.Test, " ")
		name, _, _ = strings.Cut(name, "/")
		tests[l.Dir] = append(tests[l.Dir], name)
	}
	for _, dir := range slices.Sorted(maps.Keys(tests)) {
		slices.Sort(tests[dir])
		fmt.Fprintf(to, "-run=^(%s)$ %s\n", strings.Join(slices.Compact(tests[dir]), "|"), dir)
	}
	return nil
}

func read(r io.Reader) (all []need.LeftOut, err error) {
	for d := json.NewDecoder(r); ; {
		var l need.LeftOut
		switch err := d.Decode(&l); {
		case err == io.EOF:
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("the account of what was left out: %w", err)
		}
		all = append(all, l)
	}
}

// summary names each thing that is missing once, with the tests that need it.
func summary(all []need.LeftOut) string {
	if len(all) == 0 {
		return "No test was left out for want of a program or a permission.\n"
	}
	slices.SortFunc(all, func(a, b need.LeftOut) int {
		return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Remedy, b.Remedy), cmp.Compare(a.Test, b.Test))
	})
	all = slices.Compact(all)
	var b strings.Builder
	fmt.Fprintf(&b, "Left out (%s=all makes it a failure):\n", need.Require)
	for i, l := range all {
		if i == 0 || l.What != all[i-1].What || l.Remedy != all[i-1].Remedy {
			fmt.Fprintf(&b, "  for want of %s: %s\n", l.What, l.Remedy)
		}
		fmt.Fprintf(&b, "    %s\n", l.Test)
	}
	return b.String()
}
