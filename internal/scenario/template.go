package scenario

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"
)

//go:embed template.yaml
var template string

// Template is a new scenario, whose comments teach the language. name is the file's, without .yaml.
func Template(name string) []byte {
	file := name + ".yaml"
	if !plainFile.MatchString(file) {
		file = strconv.QuoteToASCII(file)
	}
	return []byte(strings.Replace(template, "NAME", file, 1))
}

// plainFile are names that a shell takes as they are.
var plainFile = regexp.MustCompile(`^[A-Za-z0-9./_-]+$`)
