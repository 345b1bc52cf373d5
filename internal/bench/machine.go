package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/version"
	"golang.org/x/sys/unix"
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
	if path := redisPath(); path != "" {
		redis = versionOf(path)
	}
	return []string{
		fmt.Sprintf("%s; %d cores of %s, which clients and servers share; Linux %s", time.Now().Format(time.DateOnly),
			runtime.NumCPU(), field("/proc/cpuinfo", "model name"), unix.ByteSliceToString(u.Release[:])),
		"files on " + disk,
		fmt.Sprintf("%s; Redis %s; etcd %s, one member with its defaults, synced", runtime.Version(), redis, version.Version),
		"load average of the machine before the run: " + load1(),
	}, nil
}

// field is the first value of a name in a file of "name : value" lines.
func field(path, name string) string {
	f, err := os.Open(path)
	if err != nil {
		return "unknown"
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return "unknown"
}

func load1() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(b), " ")
	return one
}

// versionOf is what "redis-server --version" tells, shortened.
func versionOf(path string) string {
	out, err := exec.Command(path, "--version").Output()
	if err != nil {
		return "of an unknown version"
	}
	for word := range strings.FieldsSeq(string(out)) {
		if v, ok := strings.CutPrefix(word, "v="); ok {
			return v
		}
	}
	return "of an unknown version"
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
