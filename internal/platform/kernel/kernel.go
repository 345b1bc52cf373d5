// Package kernel has all that the lab asks of Linux itself, so that everything else compiles elsewhere as
// well. Elsewhere each function that returns an error returns that of Missing, and nothing is done.
package kernel

import (
	"fmt"
	"runtime"
)

// inContainer is how a system that is not Linux has Linux.
const inContainer = `run "docker build -t gcsim https://github.com/fencelab/fencelab.git" once, and then "docker run --rm gcsim" with what follows "gcsim"`

// Missing is an error that says how to have Linux; nil on Linux.
func Missing() error { return missing(runtime.GOOS) }

func missing(system string) error {
	if system == "linux" {
		return nil
	}
	return fmt.Errorf("this needs Linux, and here is %s: %s", system, inContainer)
}
