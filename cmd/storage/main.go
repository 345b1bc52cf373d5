// Command storage is an HTTP key-value storage that refuses stale writes.
package main

import (
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/storage/storagecmd"
)

func main() { cli.Main(storagecmd.Command()) }
