package proc

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Look returns where a program is, "" where there is none: on PATH, or else in a folder
// beside one of PATH's, such as ../sbin or ../lib/NAME/*/bin. Where several match it takes
// the last in their order.
func Look(name, beside string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		all, _ := filepath.Glob(filepath.Join(dir, beside, name))
		for i := len(all) - 1; i >= 0; i-- {
			if path, err := exec.LookPath(all[i]); err == nil {
				return path
			}
		}
	}
	return ""
}
