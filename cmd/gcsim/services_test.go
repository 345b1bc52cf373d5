package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// fetched is a service that can fetch what it needs, and then still may lack something.
type fetched struct {
	err     error
	poor    bool
	damaged error
}

func (f fetched) service(name string) *service.Service {
	got := false
	return &service.Service{
		Service: scenario.Service{Name: name},
		Found: func() (where, bring string) {
			if got && !f.poor {
				return "in the cache", ""
			}
			return "", "buy one"
		},
		Get: func(_ context.Context, progress io.Writer) error {
			fmt.Fprintln(progress, "fetching")
			got = true
			return f.err
		},
		Whole: func() error { return f.damaged },
	}
}

// TestGet: the services that are named fetch what they need, and those say so that still
// lack something.
func TestGet(t *testing.T) {
	for name, tt := range map[string]struct {
		names        []string
		broken       fetched
		prints, says string
	}{
		"one":           {names: []string{"a"}, prints: "fetching\na: in the cache\n"},
		"all":           {names: []string{"all"}, prints: "fetching\na: in the cache\nfetching\nb: in the cache\n"},
		"apart":         {names: []string{"rust"}, prints: "fetching\nrust: in the cache\n"},
		"twice":         {names: []string{"a", "all", "a"}, prints: "fetching\na: in the cache\nfetching\nb: in the cache\n"},
		"unknown":       {names: []string{"a", "c"}, says: `there is no "c": want one of a, b, poor, rust, all`},
		"not a getter":  {names: []string{"poor"}, says: "poor is missing: buy one"},
		"fails":         {names: []string{"b", "a"}, broken: fetched{err: errors.New("no network")}, prints: "fetching\na: in the cache\nfetching\n", says: "no network"},
		"still missing": {names: []string{"b"}, broken: fetched{poor: true}, prints: "fetching\n", says: "b is missing: buy one"},
		"not whole":     {names: []string{"b"}, broken: fetched{damaged: errors.New("a jar is damaged")}, prints: "fetching\n", says: "b is missing: gcsim services get b (a jar is damaged)"},
	} {
		t.Run(name, func(t *testing.T) {
			var prints strings.Builder
			rust := fetched{}.service("rust")
			rust.Apart = true
			cmd := getCommand([]*service.Service{fetched{}.service("a"), tt.broken.service("b"), poor("", ""), rust})
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetOut(&prints)
			cmd.SetErr(&prints)
			cmd.SetArgs(tt.names)
			err := cmd.ExecuteContext(t.Context())
			if says := fmt.Sprint(err); says != cmp.Or(tt.says, "<nil>") {
				t.Errorf("the error is %v, want %q", err, tt.says)
			}
			if prints.String() != tt.prints {
				t.Errorf("it prints\n%swant\n%s", &prints, tt.prints)
			}
		})
	}
}
