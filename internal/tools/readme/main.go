// Command readme prints README.md of the archives of a release, for those who have the binary alone: how the repository's
// README.md begins, and sections of docs/get.md.
//
//	go run ./internal/tools/readme
package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	text, err := readme(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "readme:", err)
		os.Exit(1)
	}
	fmt.Print(text)
}

// parts are those of the text: a file, and what is taken of it.
var parts = []struct {
	file string
	part *regexp.Regexp
}{
	{"README.md", regexp.MustCompile(`(?s)^(# .+?\n\n.+?\n\n)`)},
	{"docs/get.md", regexp.MustCompile(`(?s)\n(## The binary\n.+?\n\n)## `)},
	{"docs/get.md", regexp.MustCompile(`(?s)\n(## macOS and Windows\n.+?\n\n)## `)},
}

// licence is in a file beside the text.
const licence = "Licence: [Apache 2.0](LICENSE).\n"

// link is one that leads elsewhere in the repository.
var link = regexp.MustCompile(`\]\([^:)]+\)`)

// readme makes the text from the repository at root. A relative link becomes that of the file's page.
func readme(root string) (string, error) {
	var text string
	for _, p := range parts {
		all, err := os.ReadFile(filepath.Join(root, p.file))
		if err != nil {
			return "", err
		}
		found := p.part.FindSubmatch(all)
		if found == nil {
			return "", fmt.Errorf("%s has nothing like %s", p.file, p.part)
		}
		text += link.ReplaceAllStringFunc(string(found[1]), func(l string) string {
			return "](https://github.com/fencelab/fencelab/blob/main/" + path.Join(path.Dir(p.file), strings.TrimPrefix(l, "]("))
		})
	}
	return text + licence, nil
}
