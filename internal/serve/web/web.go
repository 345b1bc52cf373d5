// Package web has what pages with a stage share: the page around the stage, scripts and styles. A page of its own has
// blocks for the shared one, and a script that is the driver of its world (page.js).
package web

import (
	"embed"
	"strings"
	"text/template"

	"github.com/fencelab/fencelab/internal/report/page"
)

//go:embed *.js *.css *.html
var files embed.FS

// Scripts are the shared ones, by their files' names.
func Scripts() map[string]string {
	scripts := make(map[string]string)
	for _, name := range []string{"page.js", "dom.js", "stage.js", "figures.js", "messages.js", "hand.js", "time.js"} {
		scripts[name] = read(name)
	}
	return scripts
}

// Style is the style of all pages with pictures, then the style of the stage, and that of the page around the stage.
func Style() string {
	return page.Style() + read("stage.css") + read("page.css") + page.Dark(read("dark.css"))
}

// Page is the page with these blocks, a text of templates.
func Page(blocks string) (string, error) {
	all, err := template.Must(template.New("page").Parse(read("page.html"))).Parse(blocks)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = all.Execute(&b, nil)
	return b.String(), err
}

func read(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // this program has the file in itself
	}
	return string(text)
}
