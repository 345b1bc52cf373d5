package postgresproc

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ulikunitz/xz"
)

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
