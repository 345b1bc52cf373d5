package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/report/ci"
	"github.com/fencelab/fencelab/internal/report/page"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

// format is a form of a report about many runs.
type format func(w io.Writer, results []story.Result) error

// formats are those that a flag writes into a file.
var formats = []struct {
	flag, usage string
	format      format
}{
	{"junit", "file for the results as JUnit's XML", ci.JUnit},
}

// reports says where what comes of runs goes, and in which form.
type reports struct {
	look
	out   string
	files []string // of the formats
	json  bool
}

func (o *reports) flags(f *pflag.FlagSet) {
	f.StringVarP(&o.out, "out", "o", "", "directory for histories, verdicts and pictures, and index.html for all")
	o.fileFlags(f)
	f.BoolVar(&o.json, "json", false, "print the results as one JSON document instead of text")
	o.look.flags(f)
}

// fileFlags are those of the formats.
func (o *reports) fileFlags(f *pflag.FlagSet) {
	o.files = make([]string, len(formats))
	for i, to := range formats {
		f.StringVar(&o.files[i], to.flag, "", to.usage)
	}
}

// notEmpty refuses flags that were given an empty value, by a variable that is not
// set.
func notEmpty(f *pflag.FlagSet) error {
	names := append(service.Names(all.List), "endpoints", "lanes", "out", "storage-url", "storage-command")
	for _, to := range formats {
		names = append(names, to.flag)
	}
	for _, name := range names {
		if f.Changed(name) && (f.Lookup(name).Value.String() == "" || f.Lookup(name).Value.String() == "[]") {
			return fmt.Errorf("--%s is empty: give it a value, or leave it out", name)
		}
	}
	return nil
}

// page is the file that shows all runs; "" where nothing is kept.
func (o reports) page() string {
	if o.out == "" {
		return ""
	}
	return filepath.Join(o.out, pageName)
}

// prepare makes room for what is to be written about runs, before anything else
// happens: whatever cannot be written is said at once.
func (o reports) prepare(runs []story.Result) error {
	if o.out != "" {
		if err := makeRoom(o.out, runs); err != nil {
			return err
		}
	}
	for _, file := range o.files {
		if file == "" {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
	}
	// An error says who asked for the file: a variable is often set by somebody else.
	for _, t := range o.targets() {
		if err := canWrite(t.file); err != nil {
			return fmt.Errorf("%s: %w", t.asked, err)
		}
	}
	return nil
}

// save writes what is about all runs, where it is wanted.
func (o reports) save(results []story.Result) error {
	var errs []error
	for _, t := range o.targets() {
		errs = append(errs, t.write(t.file, func(w io.Writer) error { return t.format(w, results) }))
	}
	return errors.Join(errs...)
}

// target is a file about all runs.
type target struct {
	asked  string // by which flag or variable
	file   string
	write  func(file string, content func(io.Writer) error) error
	format format
}

// writePage writes the page of all runs, with links to the chapters that there are:
// a page lies wherever it was asked for, so the chapters are where all find them.
func writePage(w io.Writer, results []story.Result) error {
	return page.Write(w, results, func(name string) string {
		file := chapterFile(name)
		if file == "" {
			return ""
		}
		return published + file
	})
}

// targets are the files that are wanted: the page, those of flags, and the summary
// of a job on GitHub Actions.
func (o reports) targets() []target {
	list := []target{{"--out", o.page(), write, writePage}}
	for i, file := range o.files {
		list = append(list, target{"--" + formats[i].flag, file, write, formats[i].format})
	}
	list = append(list, target{"GITHUB_STEP_SUMMARY", os.Getenv("GITHUB_STEP_SUMMARY"), appendTo, ci.Markdown})
	return slices.DeleteFunc(list, func(t target) bool { return t.file == "" })
}
