// Package main is the half of a client that takes its locks by the leader election of client-go, as it is. Its agent.go is
// what other clients in Go have, too.
package main

import (
	"io"
	"os"

	"k8s.io/klog/v2"
)

// libraries are the recipes. All are client-go's, with other settings.
var libraries = map[string]func(settings) (locks, error){
	"leaderelection": openElections, "leaderelection-no-timeout": openElections, "leaderelection-no-release": openElections,
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	known["token"] = []string{"resource-version", "transitions", "acquire-time"}
	exit(obeyInput(os.Args[1]))
}
