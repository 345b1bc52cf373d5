// Package scenarios holds the scenarios that gcsim knows by name: a folder for each
// lock service.
package scenarios

import "embed"

// FS has a folder for each lock service, called as the service is, with a YAML file
// for each scenario.
//
//go:embed */*.yaml
var FS embed.FS
