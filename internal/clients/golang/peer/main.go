// Package main is the half of a client that takes its locks by a library in Go as it is. It does with the library's
// locks what a line of its input asks, and answers by a line. What a client does in a scenario is known to the other half
// alone, which is gcsim's own client: see internal/clients/peer. A library is a file beside this one, and an entry of
// libraries.
package main

import "os"

// libraries open the locks of each recipe.
var libraries = map[string]func(settings) (locks, error){
	"redsync": openRedsync, "redsync-extended": openRedsync, "redsync-setnx": openRedsync,
	"bsm-redislock": openRedislock, "bsm-redislock-refreshed": openRedislock,
	"election": openElection,
}

func main() { exit(obeyInput(os.Args[1])) }
