// Command prose tells where documents leave the words of CONTRIBUTING.md, and where a sentence is
// longer than its bound.
//
//	go run ./internal/tools/prose
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

func run() error {
	contributing, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		return err
	}
	g, err := readGuide(string(contributing))
	if err != nil {
		return fmt.Errorf("CONTRIBUTING.md: %w", err)
	}
	hits := 0
	err = filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".md") && !strings.HasSuffix(path, ".md.tmpl") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, hit := range g.check(string(text)) {
			fmt.Printf("%s:%s\n", path, hit)
			hits++
		}
		return err
	})
	if err == nil && hits > 0 {
		err = fmt.Errorf("%d hits; CONTRIBUTING.md has the words", hits)
	}
	return err
}
