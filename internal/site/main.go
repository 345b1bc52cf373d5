// Command site makes a static site of the documents: chapters with their pictures, the course, the table of locks, a
// search over all of it, and a stage on which the explorer's model plays the stories. The site works offline and below
// any address, and asks no other one for anything.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fencelab/fencelab/internal/platform/fail"
)

const usage = `usage: go run ./internal/site DIR, in the repository's root

It writes the site into DIR, which must not be there yet, or be empty.`

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 || strings.HasPrefix(os.Args[1], "-") {
		log.Fatal(usage)
	}
	if err := fail.Caught(func() { write(read(os.DirFS(".")), model(), empty(os.Args[1])) }); err != nil {
		log.Fatal("site: ", err)
	}
}

// model is the program of the stage, compiled for browsers.
func model() []byte {
	dir := fail.Must(os.MkdirTemp("", "site-"))
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "play.wasm")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./internal/explore/play/wasm")
	build.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fail.If(fmt.Errorf("compile the model for browsers: %w\n%s", err, out))
	}
	return fail.Must(os.ReadFile(program))
}

// empty makes a directory, unless it is there already, and refuses one that has something in it.
func empty(dir string) string {
	list, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll(dir, 0o777)
	}
	fail.If(err)
	if len(list) > 0 {
		fail.If(fmt.Errorf("%s is not empty: name another directory, or remove this one", dir))
	}
	return dir
}
