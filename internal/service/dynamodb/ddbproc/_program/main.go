// Package main is the half of a client that takes its locks by items of DynamoDB: the recipes. What a client in Go has in
// common with others is agent.go.
package main

import "os"

// libraries are the recipes: all take their locks by the items of one table.
var libraries = map[string]func(settings) (locks, error){
	byLease: openItems, byLeaseOverwrite: openItems, byLeaseDelete: openItems, byLeaseDeleteAny: openItems,
	byLeaseUntil: openItems, byCreate: openItems,
}

func main() { exit(obeyInput(os.Args[1])) }
