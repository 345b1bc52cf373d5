// Command elsewhere says whether gcsim can be compiled for other systems, by their names in Go. It checks the
// types of all that gcsim is made of, and makes no program, which takes many times longer.
//
//	go run ./internal/tools/elsewhere darwin windows
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	for _, system := range os.Args[1:] {
		list, err := packages.Load(&packages.Config{
			Mode: packages.LoadAllSyntax,
			Env:  append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"),
		}, "./cmd/gcsim")
		if err != nil {
			fmt.Fprintln(os.Stderr, "elsewhere:", err)
			os.Exit(1)
		}
		if packages.PrintErrors(list) > 0 {
			fmt.Fprintln(os.Stderr, "elsewhere: gcsim cannot be compiled for", system)
			os.Exit(1)
		}
	}
}
