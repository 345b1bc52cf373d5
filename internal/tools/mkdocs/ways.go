package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
)

// wayMark begins the last lines of a chapter, which say where to go from there.
const wayMark = "\n<!-- The lines below are made by make docs. -->\n"

// withWays are the texts of a service's chapters, by their files, with the way from each to
// the chapters beside it, to the service's table and to the guide.
func withWays(repository fs.FS, service string, list []*scenario.Scenario) (map[string]string, error) {
	folder := all.Chapters(service)
	guide := "locks.md"
	if folder != "docs" {
		guide = "../locks.md"
	}
	var files, texts, titles []string
	for _, s := range list {
		if s.Variants[0].World.Service != service {
			continue
		}
		file := s.Name + ".md"
		text, err := fs.ReadFile(repository, path.Join(folder, file))
		if err != nil {
			return nil, err
		}
		title := chapterTitle.FindSubmatch(text)
		if title == nil {
			return nil, fmt.Errorf("%s/%s: want a title with a number", folder, file)
		}
		own, _, _ := strings.Cut(string(text), wayMark)
		files, texts, titles = append(files, file), append(texts, own), append(titles, string(title[1]))
	}
	chapters := make(map[string]string)
	for i := range files {
		var way []string
		if i > 0 {
			way = append(way, fmt.Sprintf("[← %s](%s)", titles[i-1], files[i-1]))
		}
		way = append(way, "[All pitfalls](README.md)", fmt.Sprintf("[Which lock, which fence?](%s#which-lock-which-fence)", guide))
		if i+1 < len(files) {
			way = append(way, fmt.Sprintf("[%s →](%s)", titles[i+1], files[i+1]))
		}
		chapters[path.Join(folder, files[i])] = texts[i] + wayMark + "\n" + strings.Join(way, " · ") + "\n"
	}
	return chapters, nil
}

var chapterTitle = regexp.MustCompile(`\A# (\d+\. .+)\n`)
