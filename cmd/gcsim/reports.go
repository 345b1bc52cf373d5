package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/report/ci"
	"github.com/fencelab/fencelab/internal/report/page"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
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

// notEmpty refuses flags that were given an empty value, by a variable that is not set.
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

// save writes what is about all runs, where it is wanted, and a page about each scenario.
func (o reports) save(results []story.Result) error {
	var errs []error
	for _, of := range story.Grouped(results, story.OfScenario) {
		if o.out != "" && slices.ContainsFunc(of, func(r story.Result) bool { return len(r.Events) > 0 }) {
			errs = append(errs, write(filepath.Join(o.out, of[0].Scenario, pageName), func(w io.Writer) error { return page.Scenario(w, of, chapterAddress) }))
		}
	}
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
// GitHub Actions. Pages lie wherever they were asked for, so their links to chapters are addresses.
func (o reports) targets() []target {
	pageOf := func(w io.Writer, results []story.Result) error { return page.Index(w, results, chapterAddress) }
	return slices.DeleteFunc([]target{
		{"--out", o.page(), write, pageOf},
		{"--junit", o.junit, write, ci.JUnit},
		{"GITHUB_STEP_SUMMARY", os.Getenv("GITHUB_STEP_SUMMARY"), appendTo, ci.Markdown},
	}, func(t target) bool { return t.file == "" })
}

// makeRoom makes the directory for what comes of runs, without what an older run of
// theirs left: nobody could tell whose files are whose.
func makeRoom(out string, runs []story.Result) error {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	for _, r := range runs {
		r.Round = 0 // of every round
		if err := cmp.Or(removeRun(filepath.Join(out, r.Dir())), removePage(filepath.Join(out, r.Scenario))); err != nil {
			return err
		}
	}
	return removePage(out)
}

func removePage(dir string) error {
	if err := os.Remove(filepath.Join(dir, pageName)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeRun removes the files of a run, and of its rounds, and nothing that somebody else put there.
func removeRun(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		remove := func(string) error { return nil }
		if _, err := strconv.Atoi(e.Name()); err == nil && e.IsDir() { // a round
			remove = removeRun
		} else if slices.Contains(runFiles, e.Name()) {
			remove = os.Remove
		}
		if err := remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	_ = os.Remove(dir) // it stays if there is something else in it
	return nil
}

// Names of a run's files, in its directory.
const (
	historyName   = "history.jsonl"
	verdictName   = "verdict.json"
	timelineName  = "timeline.svg"
	narrowName    = "timeline-narrow.svg"
	porcupineName = "porcupine.html"
)

var runFiles = []string{historyName, verdictName, timelineName, narrowName, porcupineName}

// pageName is the file that has all runs, in the directory of -o, and the runs of a scenario in its directory.
const pageName = "index.html"

// saveResult writes what came of a run below out: its history, and, where it could
// be made, verdict, timeline and the second opinion.
func saveResult(out string, r story.Result) error {
	if len(r.Events) == 0 {
		return nil
	}
	in := filepath.Join(out, r.Dir())
	if err := os.MkdirAll(in, 0o777); err != nil {
		return err
	}
	files := map[string]func(io.Writer) error{
		historyName: func(w io.Writer) error { return history.Write(w, r.Events) },
	}
	if r.Err == nil {
		files[verdictName] = func(w io.Writer) error {
			enc := json.NewEncoder(w)
			enc.SetIndent("", "  ")
			return enc.Encode(r.Verdict)
		}
		files[timelineName] = func(w io.Writer) error { return svg.Write(w, svg.Wide, r.Drawing()) }
		files[narrowName] = func(w io.Writer) error { return svg.Write(w, svg.Narrow, r.Drawing()) }
		files[porcupineName] = func(w io.Writer) error { return visualize(w, r.Events) }
	}
	var errs []error
	for name, content := range files {
		errs = append(errs, write(filepath.Join(in, name), content))
	}
	return errors.Join(errs...)
}

// visualize writes the second opinion as a page, or why there is none: the page of all runs has a link to it.
func visualize(w io.Writer, events []history.Event) error {
	var b bytes.Buffer
	if err := judge.Visualize(&b, events); err != nil {
		b.Reset()
		fmt.Fprintf(&b, "<!doctype html>\n<meta charset=\"utf-8\">\n<title>porcupine</title>\n<p>%s</p>\n", html.EscapeString(err.Error()))
	}
	_, err := b.WriteTo(w)
	return err
}

// canWrite says whether a file can be written, and leaves all as it is. What is
// neither a file nor a directory, as a pipe, is not tried: somebody reads it.
func canWrite(name string) error {
	info, err := os.Stat(name)
	missing := errors.Is(err, fs.ErrNotExist)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil || !missing {
		return err
	}
	return os.Remove(name)
}

// write writes a file; what it could not write to the end it removes. A device or
// a pipe is not its to remove.
func write(name string, content func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err := errors.Join(err, content(f), f.Close()); err != nil {
		if info != nil && info.Mode().IsRegular() {
			err = errors.Join(err, os.Remove(name))
		}
		return err
	}
	return nil
}

// appendTo writes at the end of a file that others write to as well.
func appendTo(name string, content func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(content(f), f.Close())
}
