// Package stage writes a page whose stage has the explorer's model for its world. The page needs nothing installed, and
// no server but one of files.
package stage

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fencelab/fencelab/internal/serve/web"
)

// What the page has of its own: the blocks of the shared page, and the driver of the worlds.
//
//go:embed web
var own embed.FS

// Write writes the page into a directory. wasm is the program of internal/explore/play/wasm, compiled for js and wasm
// by the Go that is on PATH: Go's own script runs it. dir/index.html#SCENARIO/VARIANT is the stage of a variant.
func Write(dir string, wasm []byte) error {
	files, err := files()
	if err != nil {
		return fmt.Errorf("the page of the model: %w", err)
	}
	files["play.wasm"] = string(wasm)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("the page of the model: %w", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			return fmt.Errorf("the page of the model: %w", err)
		}
	}
	return nil
}

// files are those of the page but for the program, by their names.
func files() (map[string]string, error) {
	files := maps.Clone(web.Scripts())
	for _, name := range []string{"model.js", "answers.js", "worker.js", "search.js", "model.css", "icon.svg", "model.html"} {
		text, err := own.ReadFile("web/" + name)
		if err != nil {
			return nil, err
		}
		files[name] = string(text)
	}
	page, err := web.Page(files["model.html"])
	if err != nil {
		return nil, err
	}
	files["index.html"], files["page.css"] = page, web.Style()+files["model.css"]
	delete(files, "model.html")
	delete(files, "model.css")
	all, err := catalog()
	if err != nil {
		return nil, err
	}
	worlds, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	files["worlds.json"] = string(worlds)
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("where Go is: %w", err)
	}
	runs, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	files["wasm_exec.js"] = string(runs)
	return files, err
}
