// Package learn sets up the exercises of the course, and says whether they are solved.
package learn

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/docs/course"
)

// Lesson is one of the course.
type Lesson struct {
	Number  int
	Title   string
	Minutes int    // that it takes
	Task    string // what is to be done, in Markdown
	Parent  string // the directory in which the exercise is set up; "" is the working directory
	kind    exercise
}

// Page is the file of the lesson's page.
func (l Lesson) Page() string { return "docs/course/" + pageOf(l.Number) }

// Dir is where the exercise is set up.
func (l Lesson) Dir() string { return filepath.Join(l.Parent, fmt.Sprintf("lesson-%02d", l.Number)) }

func pageOf(number int) string { return fmt.Sprintf("lesson-%02d.md", number) }

// Lessons are all, in order.
func Lessons() ([]Lesson, error) {
	var list []Lesson
	for i, kind := range exercises {
		l, err := read(i+1, kind)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

var (
	titleLine   = regexp.MustCompile(`(?m)\A# (\d+)\. (.+)$`)
	minutesWord = regexp.MustCompile(`\b(\d+) minutes\b`)
	taskPart    = regexp.MustCompile(`(?s)\n## Exercise\n(.*?)\n\n    gcsim learn \d+\n`)
)

func read(number int, kind exercise) (Lesson, error) {
	text, err := fs.ReadFile(course.FS, pageOf(number))
	if err != nil {
		return Lesson{}, err
	}
	l := Lesson{Number: number, kind: kind}
	title, minutes, task := titleLine.FindSubmatch(text), minutesWord.FindSubmatch(text), taskPart.FindSubmatch(text)
	if title == nil || minutes == nil || task == nil || string(title[1]) != strconv.Itoa(number) {
		return l, fmt.Errorf("%s: want a title with its number, its minutes, and an exercise with an answer", l.Page())
	}
	l.Title, l.Task = string(title[2]), strings.TrimSpace(string(task[1]))
	l.Minutes, err = strconv.Atoi(string(minutes[1]))
	return l, err
}

// SetUp writes the files with which the exercise begins into its directory, which must not be there yet.
func (l Lesson) SetUp() (files []string, err error) {
	if err := os.Mkdir(l.Dir(), 0o777); err != nil {
		return nil, err
	}
	start, err := fs.Sub(course.FS, l.exercise("start"))
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(l.Dir(), start); err != nil {
		return nil, err
	}
	if e, ok := l.kind.(storageCommand); ok && e.program != nil {
		if err := os.WriteFile(filepath.Join(l.Dir(), programFile), e.program, 0o666); err != nil {
			return nil, err
		}
	}
	err = fs.WalkDir(os.DirFS(l.Dir()), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, filepath.Join(l.Dir(), name))
		}
		return err
	})
	return files, err
}

// IsSetUp reports whether the exercise's directory is there.
func (l Lesson) IsSetUp() (bool, error) {
	info, err := os.Stat(l.Dir())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err == nil && !info.IsDir():
		err = fmt.Errorf("%s is no directory: the exercise goes there, so move the file away", l.Dir())
	}
	return err == nil, err
}

func (l Lesson) exercise(part string) string {
	return path.Join("exercises", fmt.Sprintf("%02d", l.Number), part)
}
