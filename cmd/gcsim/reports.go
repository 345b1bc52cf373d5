package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/report"
)

// reports says where what comes of runs goes, and in which form.
type reports struct {
	out, junit  string
	json, ascii bool
}

func (o *reports) flags(f *pflag.FlagSet) {
	f.StringVarP(&o.out, "out", "o", "", "directory for histories, verdicts and pictures, and index.html for all")
	f.StringVar(&o.junit, "junit", "", "file for the results as JUnit's XML")
	f.BoolVar(&o.json, "json", false, "print the results as one JSON document instead of text")
	f.BoolVar(&o.ascii, "ascii", false, "draw with ASCII only")
}

// notEmpty refuses flags that were given an empty value, by a variable that is not
// set.
func notEmpty(f *pflag.FlagSet, names ...string) error {
	for _, name := range names {
		if f.Changed(name) && (f.Lookup(name).Value.String() == "" || f.Lookup(name).Value.String() == "[]") {
			return fmt.Errorf("--%s is empty: give it a value, or leave it out", name)
		}
	}
	return nil
}

// look is how to draw on w.
func (o reports) look(w io.Writer) report.Options {
	look := report.Detect(w, os.Environ())
	look.ASCII = o.ascii
	return look
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
func (o reports) prepare(runs []report.Result) error {
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
	for _, f := range []struct{ asked, name string }{{"--out", o.page()}, {"--junit", o.junit}, {"GITHUB_STEP_SUMMARY", summaryFile()}} {
		if f.name == "" {
			continue
		}
		if err := canWrite(f.name); err != nil {
			return fmt.Errorf("%s: %w", f.asked, err)
		}
	}
	return nil
}

// save writes what is about all runs, where it is wanted: the page, JUnit's file,
// and the summary of a job on GitHub Actions.
func (o reports) save(results []report.Result) error {
	var errs []error
	if page := o.page(); page != "" {
		errs = append(errs, write(page, func(w io.Writer) error { return report.Page(w, results) }))
	}
	if o.junit != "" {
		errs = append(errs, write(o.junit, func(w io.Writer) error { return report.JUnit(w, results) }))
	}
	if file := summaryFile(); file != "" {
		errs = append(errs, appendTo(file, func(w io.Writer) error { return report.Markdown(w, results) }))
	}
	return errors.Join(errs...)
}

// summaryFile is the summary of a job on GitHub Actions; "" elsewhere.
func summaryFile() string { return os.Getenv("GITHUB_STEP_SUMMARY") }
