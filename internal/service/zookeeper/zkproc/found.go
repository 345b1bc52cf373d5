package zkproc

import (
	"context"
	_ "embed"
	"io"

	"github.com/fencelab/fencelab/internal/clients/maven"
)

//go:embed pom.xml
var pom []byte

// libraries are ZooKeeper and what it needs.
var libraries = maven.Libraries{Name: "zookeeper", POM: pom}

// GetJars is the command that brings the jars.
const GetJars = "gcsim services get zookeeper"

// Found says where ZooKeeper is, "" where a part of what it needs is missing, and then bring
// is the command that brings that part.
func Found() (where, bring string) { return libraries.FoundToRun(GetJars) }

// Get fetches the jars into the user's cache, and tells progress about it. Where they are
// there it returns at once.
func Get(ctx context.Context, progress io.Writer) error { return libraries.Get(ctx, progress) }
