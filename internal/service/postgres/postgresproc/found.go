package postgresproc

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/platform/proc"
)

//go:embed pom.xml
var pom []byte

// architectures are those for which there is an archive of PostgreSQL, by Go's names.
var architectures = map[string]string{"amd64": "amd64", "arm64": "arm64v8"}

// Package github.com/fergusstrange/embedded-postgres fetches the same archive, but from one
// place alone: it knows neither the mirrors nor the proxies of the user's Maven.
var archive = maven.Libraries{
	Name:   "postgres",
	POM:    bytes.ReplaceAll(pom, []byte("ARCHITECTURE"), []byte(architectures[runtime.GOARCH])),
	Unpack: unpack,
}

// Install are the commands of which each brings postgres.
const Install = "apt-get install postgresql, or " + GetArchive

// GetArchive is the command that brings the archive.
const GetArchive = "gcsim services get postgres"

// Program is where postgres is, "" where there is none: on PATH, or the newest where Debian
// puts it, or what Get has fetched. The program initdb is beside it.
func Program() string {
	if path := proc.Look("postgres", "../lib/postgresql/*/bin"); path != "" {
		return path
	}
	if dir := archive.Found(); dir != "" {
		return filepath.Join(dir, "bin", "postgres")
	}
	return ""
}

// Get fetches PostgreSQL into the user's cache, and tells progress about it. Where a postgres
// is there it returns at once.
func Get(ctx context.Context, progress io.Writer) error {
	if Program() != "" {
		return nil
	}
	if architectures[runtime.GOARCH] == "" {
		return fmt.Errorf("there is no archive of PostgreSQL for %s: apt-get install postgresql", runtime.GOARCH)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	if err := mayEnter(cache, "an XDG_CACHE_HOME that all may enter, such as /var/cache"); err != nil {
		return fmt.Errorf("postgres: %w", err)
	}
	return archive.Get(ctx, progress)
}
