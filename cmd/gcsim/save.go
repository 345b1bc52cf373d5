package main

import (
	"bytes"
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

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
)

// makeRoom makes the directory for what comes of runs, without what an older run of
// theirs left: nobody could tell whose files are whose.
func makeRoom(out string, runs []story.Result) error {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	for _, r := range runs {
		r.Round = 0 // of every round
		if err := removeRun(filepath.Join(out, r.Dir())); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(out, pageName)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeRun removes the files of a run, and of its rounds, and nothing that
// somebody else put there.
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
	porcupineName = "porcupine.html"
)

var runFiles = []string{historyName, verdictName, timelineName, porcupineName}

// pageName is the file that has all runs, in the directory of -o.
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
		files[porcupineName] = func(w io.Writer) error { return visualize(w, r.Events) }
	}
	var errs []error
	for name, content := range files {
		errs = append(errs, write(filepath.Join(in, name), content))
	}
	return errors.Join(errs...)
}

// visualize writes the second opinion as a page, or why there is none: the page
// of all runs has a link to it.
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
