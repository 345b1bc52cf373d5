package interop_test

import (
	"encoding/xml"
	"fmt"

	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/internal/clients/java"
)

// results are what was checked.
type results struct {
	mu     sync.Mutex
	passed []result
}

type result struct {
	pairing, property int // their places
	server            string
}

func (r *results) add(one result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.passed = append(r.passed, one)
}

// complete reports whether all was checked: a server can be missing, and -run can name a part.
func (r *results) complete() bool {
	for i, one := range pairings {
		for _, server := range one.servers {
			for j, p := range properties {
				if p.applies(one, server) && !slices.Contains(r.passed, result{i, j, server}) {
					return false
				}
			}
		}
	}
	return true
}

// page is the document that shows them.
func (r *results) page(t *testing.T) string {
	t.Helper()
	head, err := os.ReadFile("testdata/head.md")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	out.Write(head)
	out.WriteString("\n| in Java | ours | on |")
	for _, p := range properties {
		fmt.Fprintf(&out, " %s |", p.name)
	}
	out.WriteString("\n|" + strings.Repeat(" --- |", 3+len(properties)) + "\n")
	for i, one := range pairings {
		for _, server := range one.servers {
			fmt.Fprintf(&out, "| %s | %s | %s |", one.original, one.function, server)
			for j := range properties {
				cell := "–"
				if slices.Contains(r.passed, result{i, j, server}) {
					cell = "yes"
				}
				fmt.Fprintf(&out, " %s |", cell)
			}
			out.WriteString("\n")
		}
	}
	out.WriteString("\nThe columns:\n\n")
	for _, p := range properties {
		fmt.Fprintf(&out, "- *%s*: %s\n", p.name, p.about)
	}
	out.WriteString("\nThe libraries:\n\n| | library | version |\n| --- | --- | --- |\n")
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		for _, d := range dependencies(t, folder) {
			fmt.Fprintf(&out, "| %s | %s | %s |\n", folder, d.ArtifactID, d.Version)
		}
	}
	return out.String()
}

type dependency struct {
	GroupID    string `xml:"groupId"`
	ArtifactID string `xml:"artifactId"`
	Version    string `xml:"version"`
}

// dependencies are those of the library of a folder, and none of the project's own.
func dependencies(t *testing.T, folder string) []dependency {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../clients/java", folder, "pom.xml"))
	if err != nil {
		t.Fatal(err)
	}
	var pom struct {
		Dependencies []dependency `xml:"dependencies>dependency"`
	}
	if err := xml.Unmarshal(data, &pom); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(pom.Dependencies, func(d dependency) bool { return d.GroupID == java.Group })
}
