package main

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/scenario"
)

const oneVariant = `
title: t
world: {%world}
clients: {c: {lock: /l%client}}
steps: [%steps]
variants: {only: {expect: {verdict: safe}}}
`

func variantOf(t *testing.T, world, client, steps string) *scenario.Variant {
	t.Helper()
	s, err := language.Parse("t.yaml", "t", []byte(strings.NewReplacer("%world", world, "%client", client, "%steps", steps).Replace(oneVariant)))
	if err != nil {
		t.Fatal(err)
	}
	return &s.Variants[0]
}

// TestVariantsThatAStorageCannotTakePartIn are left out by name.
func TestVariantsThatAStorageCannotTakePartIn(t *testing.T) {
	all := laws.Speaks{Protocol: "/v1", Sequence: true, Duplicates: true, Marks: true, Shared: true, Batch: true}
	without := func(change func(*laws.Speaks)) laws.Speaks {
		s := all
		change(&s)
		return s
	}
	contrib := laws.Speaks{Protocol: "contrib/lock"}
	url, command := ownStorage{url: "http://127.0.0.1:8080"}, ownStorage{command: "x {addr}"}
	const kill = "gcsim: kill storage, gcsim: restart storage"
	for name, tt := range map[string]struct {
		own                  ownStorage
		speaks               laws.Speaks
		world, client, steps string
		want                 string
	}{
		"nothing special":       {url, laws.Speaks{Protocol: "/v1"}, "", "", "c: lock", ""},
		"one of its own":        {url, all, "storage: {command: 'y {port}'}", "", "c: lock", "a storage of its own"},
		"no flag":               {ownStorage{}, laws.Speaks{Protocol: "/v1"}, "storage: {command: 'y {port}'}", "", kill, ""},
		"data in the service":   {url, all, "postgres: {}, storage: {in: service}", "", "c: lock", "its data lies in postgres"},
		"no check":              {url, all, "storage: {fencing: off}", "", "c: lock", "checks no tokens"},
		"a wrong check":         {url, all, "storage: {fencing: differs}", "", "c: lock", "a check that is wrong (fencing: differs)"},
		"a bound":               {url, all, "storage: {bound: issuer}", "", "c: lock", "asks etcd which tokens there are"},
		"a kill, at a URL":      {url, all, "storage: {engine: bolt}", "", kill, "--storage-command makes possible"},
		"a pause, at a URL":     {url, all, "", "", "gcsim: pause storage, gcsim: resume storage", "--storage-command makes possible"},
		"a pause":               {command, all, "", "", "gcsim: pause storage, gcsim: resume storage", ""},
		"a kill":                {command, without(func(s *laws.Speaks) { s.Durable = true }), "storage: {engine: bolt}", "", kill, ""},
		"a kill, and it keeps":  {command, without(func(s *laws.Speaks) { s.Durable = true }), "", "", kill, "loses its data"},
		"a kill, and it loses":  {command, all, "storage: {engine: bolt}", "", kill, "keeps its data"},
		"numbers":               {url, all, "", ", numbered: true", "c: lock", ""},
		"numbers, no sequence":  {url, without(func(s *laws.Speaks) { s.Sequence = false }), "", ", numbered: true", "c: lock", "a client numbers its requests"},
		"numbers, no duplicate": {url, without(func(s *laws.Speaks) { s.Duplicates = false }), "", ", numbered: true", "c: lock", "a client numbers its requests"},
		"numbers, no mark":      {url, without(func(s *laws.Speaks) { s.Marks = false }), "", ", numbered: true", "c: lock", "a client numbers its requests"},
		"shared":                {url, all, "", ", mode: shared", "c: lock", ""},
		"not shared":            {url, without(func(s *laws.Speaks) { s.Shared = false }), "", ", mode: shared", "c: lock", "a client shares its lock"},
		"shared, and not said":  {url, without(func(s *laws.Speaks) { s.Shared = false }), "", ", mode: shared, claims: exclusive", "c: lock", ""},
		"a batch":               {url, all, "", "", "c: lock, c: change a=1 b=1", ""},
		"no batch":              {url, without(func(s *laws.Speaks) { s.Batch = false }), "", "", "c: lock, c: begin change a=1 b=1, c: finish", "a client changes several keys at once"},
		"one by one":            {url, without(func(s *laws.Speaks) { s.Batch = false }), "", ", change: singly", "c: lock, c: change a=1 b=1", ""},
		"contrib/lock":          {url, contrib, "", "", "c: lock, c: begin write a=1, c: finish, c: write a=2", ""},
		"a fenced read":         {url, contrib, "", "", "c: lock, c: begin read a, c: finish", "shows its token in a read, and the storage speaks contrib/lock"},
		"a plain read":          {url, contrib, "", ", reads: plain", "c: lock, c: read a", ""},
		"a count":               {url, contrib, "", "", "clients: count a 2", "shows its token in a read"},
		"a delete":              {url, contrib, "", "", "c: lock, c: send delete a", "a client deletes, and the storage speaks contrib/lock"},
		"two keys":              {url, contrib, "", "", "c: lock, c: write a=1, c: write b=1", "guards several keys, or a key has several locks, and the storage speaks contrib/lock"},
		"two keys, by key":      {url, contrib, "", ", scope: key", "c: lock, c: write a=1, c: write b=1", ""},
		"two locks":             {url, contrib, "", "", "c: lock, c: lock /m, c: write a=1 under /m", "guards several keys, or a key has several locks, and the storage speaks contrib/lock"},
	} {
		v := variantOf(t, tt.world, tt.client, tt.steps)
		_, got, err := tt.own.choose(v, func(lab.UsersStorage) (laws.Speaks, error) { return tt.speaks, nil })
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) || err != nil {
			t.Errorf("%s: left out because of %q, %v, want %q", name, got, err, tt.want)
		}
	}
}
