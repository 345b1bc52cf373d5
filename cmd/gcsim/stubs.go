package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/verdict"
	"github.com/fencelab/fencelab/scenarios"
)

func judge(events []history.Event) verdict.Verdict { return verdict.Judge(events) }

func secondOpinion(w io.Writer, _ []history.Event) error {
	_, err := fmt.Fprintln(w, "<!doctype html><title>porcupine</title>")
	return err
}

func page(w io.Writer, results []report.Result) error {
	_, err := fmt.Fprintf(w, "<!doctype html><title>%s</title>\n", report.Summary(results))
	return err
}

func dir(r report.Result) string {
	d := filepath.Join(r.Scenario, r.Variant)
	if r.Round > 0 {
		d = filepath.Join(d, fmt.Sprint(r.Round))
	}
	return d
}

func needs(v *scenario.Variant) string {
	if v.World.Etcd.Members > 1 {
		return fmt.Sprintf("it needs an etcd of %d members of its own", v.World.Etcd.Members)
	}
	return ""
}

func template(string) []byte {
	b, err := scenarios.FS.ReadFile("01-gc-pause.yaml")
	if err != nil {
		panic(err)
	}
	return b
}

func schema() ([]byte, error) { return []byte("{}\n"), nil }
