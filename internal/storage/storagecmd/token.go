package storagecmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/storage/access"
)

func tokenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "token NAME",
		Short: "Make the secret of a bearer token, and its entry for the file of --tokens",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("want one argument, the NAME of the client")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			secret, hash := access.Generate()
			fmt.Fprintln(cmd.OutOrStdout(), secret)
			fmt.Fprintf(cmd.ErrOrStderr(), "  - name: %s\n    sha256: %s\n    rights: [read, write]\n", args[0], hash)
			return nil
		},
	}
}
