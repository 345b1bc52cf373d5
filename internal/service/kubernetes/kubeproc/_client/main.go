// Package main is the half of a client that takes its locks by the leader election of client-go, as it is. Its agent.go is
// what other clients in Go have, too.
package main

import (
	"io"
	"os"

	"k8s.io/klog/v2"
)

// libraries are the recipes. All are client-go's, with other settings. All but the last have the times of the components of
// Kubernetes, which are 15 s, 10 s and 2 s.
var libraries = map[string]func(settings) (locks, error){
	"leaderelection":               recipe{renewDeadline: 10, retryPeriod: 2, releases: true}.open,
	"leaderelection-no-timeout":    recipe{renewDeadline: 10, retryPeriod: 2, releases: true, waits: true}.open,
	"leaderelection-no-release":    recipe{renewDeadline: 10, retryPeriod: 2}.open,
	"leaderelection-long-deadline": recipe{renewDeadline: 14, retryPeriod: 5}.open,
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	known["token"] = []string{"resource-version", "transitions", "acquire-time"}
	exit(obeyInput(os.Args[1]))
}
