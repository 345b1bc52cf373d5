// Package scenarios holds the scenarios that gcsim knows by name.
package scenarios

import "embed"

// FS has a YAML file for each scenario.
//
//go:embed *.yaml
var FS embed.FS
