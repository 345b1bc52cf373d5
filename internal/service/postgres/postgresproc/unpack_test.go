package postgresproc

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
)

// jar writes a jar with one file. Of a .txz that is an archive of entries.
func jar(t *testing.T, path, file string, entries ...tar.Header) {
	t.Helper()
	var packed bytes.Buffer
	x, err := xz.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(x)
	for _, e := range entries {
		const text = "program"
		if e.Typeflag == tar.TypeReg {
			e.Size = int64(len(text))
		}
		if err := archive.WriteHeader(&e); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(archive, text[:e.Size]); err != nil {
			t.Fatal(err)
		}
	}
	var whole bytes.Buffer
	z := zip.NewWriter(&whole)
	for _, close := range []func() error{archive.Close, x.Close, func() error {
		w, err := z.Create(file)
		if err == nil {
			_, err = w.Write(packed.Bytes())
		}
		return err
	}, z.Close} {
		if err := close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, whole.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestUnpack: files, folders and links are there, programs can be run, and the jar is gone.
func TestUnpack(t *testing.T) {
	dir := t.TempDir()
	jar(t, filepath.Join(dir, "a.jar"), "postgres-linux.txz",
		tar.Header{Typeflag: tar.TypeDir, Name: "share/", Mode: 0o700},
		tar.Header{Typeflag: tar.TypeReg, Name: "./bin/postgres", Mode: 0o755},
		tar.Header{Typeflag: tar.TypeReg, Name: "lib/libz.so.1.2", Mode: 0o644},
		tar.Header{Typeflag: tar.TypeSymlink, Name: "lib/libz.so.1", Linkname: "libz.so.1.2"})
	if err := unpack(dir); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"share": os.ModeDir | 0o755, "bin": os.ModeDir | 0o755, "bin/postgres": 0o755, "lib/libz.so.1": 0o644} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, %v, want the mode %v", name, info, err, mode)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "bin/postgres")); string(text) != "program" {
		t.Errorf("the program is %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.jar")); !os.IsNotExist(err) {
		t.Errorf("the jar is there: %v", err)
	}
}

// TestUnpackRefuses: an error says what is wrong with what, and nothing is made elsewhere.
func TestUnpackRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		file  string
		entry tar.Header
		want  string
	}{
		"no archive": {"readme", tar.Header{}, "a.jar has no archive .txz"},
		"above":      {"p.txz", tar.Header{Typeflag: tar.TypeReg, Name: "../b"}, "p.txz: ../b: "},
		"a device":   {"p.txz", tar.Header{Typeflag: tar.TypeChar, Name: "null"}, `p.txz: null: it is of the type '3', want a file, a folder or a link`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "in")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			jar(t, filepath.Join(dir, "a.jar"), tt.file, tt.entry)
			if err := unpack(dir); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if _, err := os.Stat(filepath.Join(dir, "../b")); !os.IsNotExist(err) {
				t.Errorf("a file is above: %v", err)
			}
		})
	}
	if err := unpack(t.TempDir()); err == nil || err.Error() != "got the jars [], want one" {
		t.Errorf("of no jar: %v", err)
	}
}
