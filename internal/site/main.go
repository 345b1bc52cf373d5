// Command site makes a static site of the documents: chapters with their pictures, the course, the table of locks, and
// a search over all of it. The site works offline and below any address, and asks no other one for anything.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
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
	if err := fail.Caught(func() { write(read(os.DirFS(".")), empty(os.Args[1])) }); err != nil {
		log.Fatal("site: ", err)
	}
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
