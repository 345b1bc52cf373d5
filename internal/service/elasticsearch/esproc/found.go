package esproc

import (
	"context"
	_ "embed"
	"io"
	"os/exec"

	"github.com/fencelab/fencelab/internal/maven"
)

//go:embed pom.xml
var pom []byte

// libraries are OpenSearch and what it needs.
var libraries = maven.Libraries{Name: "opensearch", POM: pom}

// Commands that bring what a node needs.
const (
	InstallJava = "apt-get install default-jdk-headless"
	GetJars     = "gcsim services get elasticsearch"
)

// Found says where OpenSearch is, "" where a part of what it needs is missing, and then bring
// is the command that brings that part.
func Found() (where, bring string) {
	if java() == "" {
		return "", InstallJava
	}
	return libraries.Found(), GetJars
}

// Get fetches the jars into the user's cache, and tells progress about it. Where they are
// there it returns at once.
func Get(ctx context.Context, progress io.Writer) error { return libraries.Get(ctx, progress) }

// java is the program, "" where there is none.
func java() string {
	path, _ := exec.LookPath("java")
	return path
}
