package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report"
)

// save writes what came of runs below dir: NAME/VARIANT/history.jsonl, and,
// where the run could be made, verdict.json and timeline.svg.
func save(dir string, results []result) error {
	for _, r := range results {
		dir := filepath.Join(dir, r.scenario.Name, r.variant.Name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		err := write(filepath.Join(dir, "history.jsonl"), func(w io.Writer) error { return history.Write(w, r.events) })
		if err != nil {
			return err
		}
		if r.err != nil {
			continue
		}
		err = errors.Join(
			write(filepath.Join(dir, "verdict.json"), func(w io.Writer) error {
				enc := json.NewEncoder(w)
				enc.SetIndent("", "  ")
				return enc.Encode(r.verdict)
			}),
			write(filepath.Join(dir, "timeline.svg"), func(w io.Writer) error {
				return report.SVG(w, report.Drawing{Events: r.events, Outcome: outcome(r.verdict)})
			}),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// write writes a file; what it could not write to the end it removes.
func write(name string, content func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := errors.Join(content(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}
