//go:build !linux

package lockfile

import (
	"os"

	"github.com/fencelab/fencelab/internal/platform/kernel"
)

func flock(*os.File) (bool, error)     { return false, kernel.Missing() }
func watch(string) (*os.File, error)   { return nil, kernel.Missing() }
func changes([]byte) ([]change, error) { return nil, kernel.Missing() }
