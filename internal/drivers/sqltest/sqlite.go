package sqltest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// SQLite is a file. A transaction takes the file's one lock for writers when it begins, and
// waits for it.
func SQLite(t testing.TB) *Database {
	t.Helper()
	return sqliteIn(t.TempDir(), new(int))
}

// sqliteIn is a file in dir. made counts the files that were made there.
//
// A kill of its process leaves what is in the files, and loses what is not there yet. So Kill
// copies them as they are, and after Restart the copy is the database: the one that was
// copied from need not end for that.
func sqliteIn(dir string, made *int) *Database {
	next := func() string {
		*made++
		return filepath.Join(dir, fmt.Sprintf("test%d.db", *made))
	}
	path, copied := next(), ""
	d := &Database{Driver: "sqlite", Source: sourceOf(path)}
	d.Kill = func() error {
		copied = next()
		return copyFiles(path, copied)
	}
	d.Restart = func(context.Context) error {
		path, d.Source = copied, sourceOf(copied)
		return nil
	}
	d.another = func(context.Context) (*Database, error) { return sqliteIn(dir, made), nil }
	return d
}

// sourceOf has the settings of a service. It does not sync: what was committed is with the
// kernel, and survives the process.
func sourceOf(path string) string {
	return "file:" + path + "?_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=journal_mode(wal)&_pragma=synchronous(off)"
}

// copyFiles copies the database and its log.
func copyFiles(from, to string) error {
	for _, suffix := range []string{"", "-wal"} {
		b, err := os.ReadFile(from + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := errors.Join(err, os.WriteFile(to+suffix, b, 0o600)); err != nil {
			return err
		}
	}
	return nil
}
