package kept

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// list is the file of a folder that says what all others are.
const list = "files.json"

// files are those of the folder at dir, by their paths in it: the size of each, and with sums the check sum, too.
func (f Folder) files(dir string, sums bool) (map[string]string, error) {
	all, root := make(map[string]string), os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == list || f.Beside != "" && strings.HasSuffix(name, f.Beside) {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if _, err := fs.Stat(root, name); err != nil { // a link, as to a Python that is there no more
			return fmt.Errorf("%s leads nowhere: %w", name, err)
		}
		all[name] = fmt.Sprintf("%d bytes", info.Size())
		if sums && info.Mode().IsRegular() {
			data, err := fs.ReadFile(root, name)
			if err != nil {
				return err
			}
			all[name] += fmt.Sprintf(", SHA-256 %x", sha256.Sum256(data))
		}
		return nil
	})
	return all, err
}

func (f Folder) writeList(dir string) error {
	all, err := f.files(dir, true)
	if err != nil {
		return err
	}
	data, _ := json.MarshalIndent(all, "", "\t") // strings always can be written
	return os.WriteFile(filepath.Join(dir, list), data, 0o644)
}

// compare is an error where the files of a folder are not what its list says.
func (f Folder) compare(dir string, sums bool) error {
	data, err := os.ReadFile(filepath.Join(dir, list))
	if err != nil {
		return fmt.Errorf("no check sums: %w", err)
	}
	var want map[string]string
	if err := json.Unmarshal(data, &want); err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	got, err := f.files(dir, sums)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		has, there := got[name]
		if !there {
			return fmt.Errorf("%s is missing", name)
		}
		if !strings.HasPrefix(want[name], has) { // without sums it has the size alone
			return fmt.Errorf("%s has %s, want %s", name, has, want[name])
		}
		delete(got, name)
	}
	for name := range got {
		return fmt.Errorf("%s is not one of its files", name)
	}
	return nil
}
