// Package main is the program of the lock service NATS in three parts: a server, the account of who holds which lock, and
// the half of a client that takes its locks. The client's half is agent.go, which other clients in Go have, too.
package main

import (
	"errors"
	"os"
)

// libraries are the recipes: all take their locks by the keys of one bucket.
var libraries = map[string]func(settings) (locks, error){
	"create-ttl": openKeys, "create-ttl-update": openKeys, "create-ttl-once": openKeys, "create-ttl-delete": openKeys, "create": openKeys,
}

// bucket has the locks of a run, a key for each.
const bucket = "locks"

func main() {
	parts := map[string]func(args []string) error{
		"server":  serve,
		"account": tellAccount,
		"client":  func(args []string) error { return obeyInput(args[0]) },
	}
	do := parts[os.Args[1]]
	if do == nil {
		exit(errors.New("want server, account or client"))
	}
	exit(do(os.Args[2:]))
}
