// Package main is the program of the lock service S3 in two parts: a server, which tells of each change of the locks, and the
// half of a client that takes its locks. The client's half is agent.go, which other clients in Go have, too.
package main

import (
	"errors"
	"os"
)

// libraries are the recipes: all take their locks by the objects of one bucket.
var libraries = map[string]func(settings) (locks, error){
	byLease: openObjects, byLeaseWatched: openObjects, byLeaseOverwrite: openObjects,
	byLeaseDelete: openObjects, byLeaseDeleteAny: openObjects, byCreate: openObjects,
}

func main() {
	parts := map[string]func(args []string) error{
		"server": func(args []string) error { return serve(args[0], args[1]) },
		"client": func(args []string) error { return obeyInput(args[0]) },
	}
	do := parts[os.Args[1]]
	if do == nil {
		exit(errors.New("want server or client"))
	}
	exit(do(os.Args[2:]))
}
