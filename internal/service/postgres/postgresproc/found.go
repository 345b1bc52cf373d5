package postgresproc

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/ulikunitz/xz"

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
	if path := installed(); path != "" {
		return path
	}
	if dir := archive.Found(); dir != "" {
		return filepath.Join(dir, "bin", "postgres")
	}
	return ""
}

func installed() string { return proc.Look("postgres", "../lib/postgresql/*/bin") }

// Whole compares what Get has fetched with its check sums, where no other postgres is installed.
func Whole() error {
	if installed() != "" {
		return nil
	}
	return archive.Whole()
}

// Get fetches PostgreSQL into the user's cache, and tells progress about it. Where a postgres
// is there, and whole, it returns at once.
func Get(ctx context.Context, progress io.Writer) error {
	if Program() != "" && Whole() == nil {
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

// unpack leaves in a folder what the archive in its one jar has, in place of the jar.
func unpack(dir string) error {
	jars, err := filepath.Glob(filepath.Join(dir, "*.jar"))
	if err != nil {
		return err
	}
	if len(jars) != 1 {
		return fmt.Errorf("got the jars %q, want one", jars)
	}
	jar, err := zip.OpenReader(jars[0])
	if err != nil {
		return err
	}
	defer jar.Close()
	i := slices.IndexFunc(jar.File, func(f *zip.File) bool { return strings.HasSuffix(f.Name, ".txz") })
	if i < 0 {
		return fmt.Errorf("%s has no archive .txz", filepath.Base(jars[0]))
	}
	packed, err := jar.File[i].Open()
	if err != nil {
		return err
	}
	defer packed.Close()
	if err := untar(bufio.NewReader(packed), dir); err != nil {
		return fmt.Errorf("%s: %w", jar.File[i].Name, err)
	}
	return os.Remove(jars[0])
}

// untar makes the files of an archive .txz, all of them below a folder.
func untar(packed io.Reader, dir string) error {
	plain, err := xz.NewReader(packed)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	files := tar.NewReader(plain)
	for {
		header, err := files.Next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
		if err := place(root, header, files); err != nil {
			return fmt.Errorf("%s: %w", header.Name, err)
		}
	}
}

// place makes one file of an archive, or a folder or a link.
func place(root *os.Root, header *tar.Header, content io.Reader) error {
	name := filepath.Clean(header.Name)
	if header.Typeflag == tar.TypeDir {
		return root.MkdirAll(name, 0o755)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	switch header.Typeflag {
	case tar.TypeSymlink:
		return root.Symlink(header.Linkname, name)
	case tar.TypeReg:
		file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, header.FileInfo().Mode().Perm())
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content)
		return errors.Join(err, file.Close())
	}
	return fmt.Errorf("it is of the type %q, want a file, a folder or a link", header.Typeflag)
}
