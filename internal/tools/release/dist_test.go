package main

import (
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// trusted has the authorities that a client trusts, here and in the image.
const trusted = "/etc/ssl/certs/ca-certificates.crt"

// TestDist: the files of a release are whole, and work where there is nothing else.
func TestDist(t *testing.T) {
	need.Night(t, "to build gcsim as a release has it")
	const purpose = "to make the files of a release"
	need.Programs(t, purpose, "bash", "gzip", "tar")
	if _, err := os.Stat(trusted); err != nil {
		need.Missing(t, trusted, purpose, "apt-get install ca-certificates")
	}
	for _, folder := range []string{".ci", "cmd", "docs", "internal", "pkg", "scenarios"} {
		need.Files(t, filepath.Join(root, folder))
	}
	dist := filepath.Join(t.TempDir(), "dist")
	archive, image := "gcsim-linux-"+runtime.GOARCH+".tar.gz", "gcsim-image-"+runtime.GOARCH+".tar"
	out, err := exec.Command(filepath.Join(root, ".ci", "dist"), dist, "linux/"+runtime.GOARCH).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "making "+filepath.Join(dist, archive)+"\n") {
		t.Fatalf("%v, want that it says what it makes\n%s", err, out)
	}
	t.Run("sums", func(t *testing.T) {
		want := fmt.Sprintf("%s  %s\n%s  %s\n", digest(t, dist, image), image, digest(t, dist, archive), archive)
		if got := string(read(t, dist, "SHA256SUMS")); got != want {
			t.Errorf("the sums are\n%s, want\n%s", got, want)
		}
		if got := names(t, dist); len(got) != 3 {
			t.Errorf("there are %q, want an archive, an image and the sums", got)
		}
	})
	t.Run("archive", func(t *testing.T) { checkArchive(t, filepath.Join(dist, archive)) })
	t.Run("image", func(t *testing.T) { checkImage(t, filepath.Join(dist, image)) })
	t.Run("action", func(t *testing.T) {
		temp := t.TempDir()
		getRelease(t, dist, "download/v0.2.0", temp, actionStep(t, "Get gcsim")+"\nPATH=$(<\"$GITHUB_PATH\"):$PATH gcsim version",
			"RUNNER_TEMP="+temp, "VERSION=v0.2.0", "GITHUB_PATH="+filepath.Join(temp, "path"))
	})
	t.Run("docs", func(t *testing.T) {
		lines := regexp.MustCompile(`(?m)^    curl .*\n(?:    .*\n)+`).FindString(string(read(t, root, "docs", "get.md")))
		lines = strings.ReplaceAll(lines, "amd64", runtime.GOARCH)
		getRelease(t, dist, "latest/download", t.TempDir(), lines)
	})
}

// checkArchive: gcsim is static and as small as docs/get.md says, and does all that the README beside it says.
func checkArchive(t *testing.T, archive string) {
	top := unpack(t, archive)
	if got, want := names(t, top), strings.TrimSuffix(filepath.Base(archive), ".tar.gz"); !slices.Equal(got, []string{want}) {
		t.Fatalf("the archive unpacks as %q, want one folder, %s", got, want)
	}
	dir := filepath.Join(top, names(t, top)[0])
	if got := names(t, dir); !slices.Equal(got, []string{"LICENSE", "README.md", "gcsim"}) {
		t.Errorf("the archive has %q", got)
	}
	program := filepath.Join(dir, "gcsim")
	binary, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer binary.Close()
	for _, section := range []string{".interp", ".symtab", ".debug_info"} {
		if binary.Section(section) != nil {
			t.Errorf("gcsim has a section %s: it is not static, or has what only a debugger reads", section)
		}
	}
	for file, most := range map[string]int64{program: 60e6, archive: 20e6} {
		if about, err := os.Stat(file); err != nil || about.Size() > most {
			t.Errorf("%s has %d bytes (%v), docs/get.md says less than %d", file, about.Size(), err, most)
		}
	}

	commands := regexp.MustCompile("(?m)(?:^    |`)\\./(gcsim.*?)(?:`| *#.*$|$)").FindAllStringSubmatch(string(read(t, dir, "README.md")), -1)
	if len(commands) < 5 {
		t.Fatalf("README.md has the commands %q, want more", commands)
	}
	for _, command := range commands {
		words := strings.Fields(strings.Replace(command[1], "help COMMAND", "help run", 1))
		cmd := exec.CommandContext(t.Context(), program, words[1:]...)
		cmd.Dir, cmd.Env = dir, []string{"PATH=", "HOME=" + dir}
		if slices.Contains(words, "serve") {
			interrupt(t, cmd, "Open http://")
		} else if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", command[1], err, out)
		}
	}
}

// interrupt starts a command that does not end by itself, and ends it by Ctrl-C when it has said what it says first.
func interrupt(t *testing.T, cmd *exec.Cmd, says string) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	first, _ := bufio.NewReader(out).ReadString('\n')
	_ = cmd.Process.Signal(os.Interrupt) // an error is that the command has ended, which Wait says
	if err := cmd.Wait(); err != nil || !strings.HasPrefix(first, says) {
		t.Errorf("%q: it says %q first, want %q, and ends with %v", cmd.Args, first, says, err)
	}
}

// checkImage: the digests are right, and what the image starts runs with the image as its root.
func checkImage(t *testing.T, archive string) {
	dir := unpack(t, archive)
	var images []struct {
		Config           string
		RepoTags, Layers []string
	}
	fromJSON(t, read(t, dir, "manifest.json"), &images)
	if len(images) != 1 || len(images[0].Layers) != 1 || !slices.Equal(images[0].RepoTags, []string{"gcsim:latest"}) {
		t.Fatalf("the images are %+v, want one, gcsim:latest, with a layer", images)
	}
	var config struct {
		OS, Architecture string
		Config           struct{ Entrypoint []string }
		RootFS           struct {
			Type    string
			DiffIDs []string `json:"diff_ids"`
		}
	}
	fromJSON(t, read(t, dir, images[0].Config), &config)
	layer := filepath.Join(dir, images[0].Layers[0])
	if want := []string{"sha256:" + digestUnpacked(t, layer)}; config.RootFS.Type != "layers" || !slices.Equal(config.RootFS.DiffIDs, want) {
		t.Errorf("the image has the layers %+v, want %s", config.RootFS, want)
	}
	if config.OS != "linux" || config.Architecture != runtime.GOARCH || len(config.Config.Entrypoint) != 1 {
		t.Fatalf("the image is %+v", config)
	}

	files := unpack(t, layer)
	if info, err := os.Stat(filepath.Join(files, "tmp")); err != nil || info.Mode() != os.ModeDir|os.ModeSticky|0o777 {
		t.Errorf("/tmp is %v (%v), want that everybody may write there", info.Mode(), err)
	}
	if len(read(t, files, trusted)) == 0 {
		t.Errorf("%s is empty", trusted)
	}
	inRoot(t, files, config.Config.Entrypoint[0], "run", "gc-pause")
}

// inRoot runs a program whose root is a directory, with what each container gets from its engine.
func inRoot(t *testing.T, dir string, command ...string) {
	t.Helper()
	const purpose = "to run a program in a root of its own"
	need.Programs(t, purpose, "sh", "mount", "chroot")
	script := `mkdir -p proc dev && mount --rbind /proc proc && mount --rbind /dev dev && echo mounted && exec chroot . "$@"`
	cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", script, "sh"}, command...)...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if !strings.Contains(string(out), "mounted\n") {
		t.Logf("%v\n%s", err, out)
		need.MissingUserNamespaces(t, purpose)
	}
	if err != nil {
		t.Errorf("%q: %v\n%s", command, err, out)
	}
}

// getRelease runs a script in a directory, as GitHub runs a step, where curl finds the files of a release at its address.
func getRelease(t *testing.T, dist, address, dir, script string, env ...string) {
	t.Helper()
	programs := t.TempDir()
	curl := "#!/bin/sh\nfor word; do\ncase $word in https://github.com/fencelab/fencelab/releases/" + address + "/*) cp " + dist + "/${word##*/} . ;; esac\ndone\n"
	if err := os.WriteFile(filepath.Join(programs, "curl"), []byte(curl), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH")), env...)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "gcsim ") {
		t.Errorf("%v\n%s", err, out)
	}
}

// unpack returns a directory with the files of an archive.
func unpack(t *testing.T, archive string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if out, err := exec.Command("tar", "-C", dir, "-xpf", archive).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func digest(t *testing.T, elem ...string) string {
	t.Helper()
	return fmt.Sprintf("%x", sha256.Sum256(read(t, elem...)))
}

// digestUnpacked is the digest of what gzip has packed into a file.
func digestUnpacked(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, unpacked); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil))
}

func fromJSON(t *testing.T, text []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(text, v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}
