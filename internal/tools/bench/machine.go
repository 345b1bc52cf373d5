package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/version"
	"golang.org/x/sys/unix"

	"github.com/fencelab/fencelab/internal/service/redis/redisproc"
)

// describe tells the machine on which a run is measured. The run's files are in dir.
func describe(dir string) ([]string, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, err
	}
	disk, err := diskOf(dir)
	if err != nil {
		return nil, err
	}
	redis := "not installed"
	if path := redisproc.Program(); path != "" {
		says, err := exec.Command(path, "--version").Output()
		redis = first(`v=(\S+)`, says, err, "of an unknown version")
	}
	load, err := os.ReadFile("/proc/loadavg")
	return []string{
		fmt.Sprintf("%s; %d cores of %s, which clients and servers share; Linux %s", time.Now().Format(time.DateOnly),
			runtime.NumCPU(), field("/proc/cpuinfo", "model name"), unix.ByteSliceToString(u.Release[:])),
		"files on " + disk,
		fmt.Sprintf("%s; Redis %s; etcd %s, one member with its defaults, synced", runtime.Version(), redis, version.Version),
		"load average of the machine before the run: " + first(`^(\S+)`, load, err, "unknown"),
	}, nil
}

// field is the first value of a name in a file of "name : value" lines.
func field(path, name string) string {
	text, err := os.ReadFile(path)
	return first(`(?m)^`+name+`\s*:\s*(.*\S)`, text, err, "unknown")
}

// first is what a pattern finds in a text; without it, or after an error, it is otherwise.
func first(pattern string, text []byte, err error, otherwise string) string {
	if found := regexp.MustCompile(pattern).FindSubmatch(text); err == nil && found != nil {
		return string(found[1])
	}
	return otherwise
}

// diskOf is the device and the filesystem that dir is on: of the mounts above
// it the nearest.
func diskOf(dir string) (string, error) {
	f, err := os.Open("/proc/self/mounts")
	if err != nil {
		return "", err
	}
	defer f.Close()
	best, told := "", "an unknown disk"
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Fields(s.Text()) // device, directory, type
		if len(fields) < 3 || len(fields[1]) < len(best) {
			continue
		}
		if rel, err := filepath.Rel(fields[1], dir); err == nil && !strings.HasPrefix(rel, "..") {
			best, told = fields[1], fmt.Sprintf("%s (%s)", fields[0], fields[2])
		}
	}
	return told, nil
}
