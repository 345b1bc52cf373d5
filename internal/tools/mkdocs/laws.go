package main

import (
	"fmt"
	"strings"

	"github.com/fencelab/fencelab/internal/outside/laws"
)

const lawsFile = "docs/laws.md"

// lawsTable is the page of all laws of a fenced storage.
func lawsTable() string {
	var b strings.Builder
	b.WriteString(`<!-- Made by make docs from internal/outside/laws and pkg/fence/fencetest; change those. -->
# The laws of a fenced storage

` + "`gcsim laws`" + ` holds [a storage of your own](your-storage.md) to them, each by its name with ` + "`--law`" + `. A law about what the storage does not do is left out. A storage in Go runs the first ones as a test, by [fencetest](../pkg/fence/fencetest/fencetest.go); the others can be broken by HTTP alone.

| law | says |
| --- | --- |
`)
	for _, l := range laws.List() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", l.Name, l.Doc)
	}
	return b.String()
}
