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

// reports says where what comes of runs goes, and in which form.
type reports struct {
	look
	out   string
	junit string
	json  bool
}

func (o *reports) flags(f *pflag.FlagSet) {
	f.StringVarP(&o.out, "out", "o", "", "directory for histories, verdicts and pictures, and index.html for all")
	o.junitFlag(f)
	f.BoolVar(&o.json, "json", false, "print the results as one JSON document instead of text")
	o.look.flags(f)
}

func (o *reports) junitFlag(f *pflag.FlagSet) {
	f.StringVar(&o.junit, "junit", "", "file for the results as JUnit's XML")
}

// notEmpty refuses flags that were given an empty value, by a variable that is not
// set.
func notEmpty(f *pflag.FlagSet) error {
	for _, name := range append(service.Names(all.List), "endpoints", "junit", "lanes", "out", "storage-url", "storage-command") {
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
	if o.junit != "" {
		if err := os.MkdirAll(filepath.Dir(o.junit), 0o777); err != nil {
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

type target struct {
	asked  string // by which flag or variable
	file   string
	write  func(file string, content func(io.Writer) error) error
	format func(w io.Writer, results []story.Result) error
}

// targets are the files that are wanted: the page, the one for JUnit, and the summary of a job on
// GitHub Actions. The page lies wherever it was asked for, so its links to chapters are addresses.
func (o reports) targets() []target {
	pageOf := func(w io.Writer, results []story.Result) error { return page.Write(w, results, chapterAddress) }
	return slices.DeleteFunc([]target{
		{"--out", o.page(), write, pageOf},
		{"--junit", o.junit, write, ci.JUnit},
		{"GITHUB_STEP_SUMMARY", os.Getenv("GITHUB_STEP_SUMMARY"), appendTo, ci.Markdown},
	}, func(t target) bool { return t.file == "" })
}
