// Command client takes a lock in etcd and works on a storage under it: as the
// clients "1" and "2" of etcd's contrib/lock, by script, or around a command.
package main

import (
	"github.com/fencelab/fencelab/internal/clients/clientcmd"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/service/all"
)

func main() { cli.Main(clientcmd.Command(all.List)) }
