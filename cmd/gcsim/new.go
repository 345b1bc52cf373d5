package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/history/schema"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/scenario"
)

var scenarioName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

func newCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "new NAME",
		Short: "Write a scenario to begin with",
		Args:  cli.Args(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !scenarioName.MatchString(args[0]) {
				return cannot(fmt.Errorf("%q is no name for a scenario: want small letters, digits and -; the file gets .yaml", args[0]))
			}
			name := args[0] + ".yaml"
			f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
			if errors.Is(err, fs.ErrExist) {
				err = fmt.Errorf("%s is there already, and is left as it is: take another name", name)
			}
			if err != nil {
				return cannot(err)
			}
			_, err = f.Write(scenario.Template(args[0]))
			if err := errors.Join(err, f.Close()); err != nil {
				return cannot(err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), `%[1]s is written. Run it:

  gcsim run %[1]s

Then change it. docs/scenarios.md has all that it can say; an editor completes and
checks it by the schema:

  gcsim schema > schema.json
`, name)
			return nil
		},
	}
}

// schemas are what gcsim has JSON schemas of.
var schemas = map[string]func() ([]byte, error){
	"scenario": func() ([]byte, error) { return language.Schema() },
	"history":  schema.Of,
	"agent":    schema.OfAgent,

	"lock-service": schema.OfLockService,
}

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "schema [scenario|history|agent|lock-service]",
		Short:     "Print the JSON schema of scenarios, or of a line of a history",
		Args:      cli.Args(0, 1),
		ValidArgs: slices.Sorted(maps.Keys(schemas)),
		RunE: func(cmd *cobra.Command, args []string) error {
			of := append(args, "scenario")[0]
			b, err := schemas[of]()
			if err == nil {
				_, err = cmd.OutOrStdout().Write(b)
			}
			return err
		},
	}
}
