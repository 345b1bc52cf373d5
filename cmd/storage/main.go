// Command storage is an HTTP key-value storage that refuses stale writes.
package main

import (
	"github.com/fencelab/fencelab/internal/cli"
	"github.com/fencelab/fencelab/internal/storagecmd"
)

func main() { cli.Main(storagecmd.Command()) }
