package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// ownStorage is a storage of the user's, which takes the place of gcsim's.
type ownStorage struct{ url, command string }

func (o *ownStorage) flags(f *pflag.FlagSet) {
	f.StringVar(&o.url, "storage-url", "", "URL of a storage of your own, which is there already, in place of gcsim's; runs that it cannot take part in are left out")
	f.StringVar(&o.command, "storage-command", "", "a storage of your own in place of gcsim's: a line for sh that runs it, with {addr} or {port}, and {dir}")
}

func (o ownStorage) check() error {
	switch {
	case o.url != "" && o.command != "":
		return errors.New("want --storage-url or --storage-command, got both")
	case o.url != "":
		return checkStorageURL(o.url)
	}
	return nil
}

// checkStorageURL refuses what is no URL of a storage.
func checkStorageURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("%q is no URL of a storage: want one such as http://127.0.0.1:8080", text)
	}
	return nil
}

// of is the storage of a run that is not gcsim's; nil: it is gcsim's.
func (o ownStorage) of(v *scenario.Variant) *lab.UsersStorage {
	switch command := v.World.Storage.Command; {
	case command != "":
		return &lab.UsersStorage{Command: command}
	case o != ownStorage{}:
		return &lab.UsersStorage{URL: o.url, Command: o.command}
	}
	return nil
}

// place gives jobs the storages that are not gcsim's, and says why jobs are skipped. Each storage
// is asked once what it speaks; none after one that could not be asked.
func (o ownStorage) place(ctx context.Context, jobs []*job) (failed error) {
	asked := make(map[lab.UsersStorage]laws.Speaks)
	ask := func(f lab.UsersStorage) (laws.Speaks, error) {
		if speaks, known := asked[f]; known || failed != nil {
			return speaks, failed
		}
		options := laws.Options{Exe: exe, Timeout: 10 * time.Second}
		how := "gcsim asks the storage what it can do"
		if f.Command != "" {
			options.Commands = []string{f.Command}
			how += ", and whether it keeps its data when gcsim kills it"
		} else {
			options.URLs = []string{f.URL}
		}
		speaks, err := laws.Ask(ctx, options)
		if err != nil {
			return speaks, fmt.Errorf("before the runs %s: %w", how, err)
		}
		asked[f] = speaks
		return speaks, nil
	}
	for _, j := range jobs {
		if j.skipped != "" {
			continue
		}
		var err error
		j.options.UsersStorage, j.skipped, err = o.choose(j.variant, ask)
		failed = cmp.Or(failed, err)
	}
	return failed
}

// choose is the storage of a variant, if that is not gcsim's, and why the variant is skipped; ""
// where it is not.
func (o ownStorage) choose(v *scenario.Variant, ask func(lab.UsersStorage) (laws.Speaks, error)) (f *lab.UsersStorage, skipped string, err error) {
	if f = o.of(v); f == nil {
		return nil, "", nil
	}
	if why := o.unfit(v); why != "" {
		return nil, why, nil
	}
	speaks, err := ask(*f)
	if err != nil {
		return f, "", err
	}
	f.Serial, f.Contrib = !speaks.Parallel, !speaks.ByScope()
	return f, cmp.Or(lacks(speaks, v), o.keeps(speaks, v)), nil
}

// unfit is why a variant cannot be run with any storage of the user's in place of gcsim's; "" where it can.
func (o ownStorage) unfit(v *scenario.Variant) string {
	s := v.World.Storage
	switch {
	case s.Command != "" && o != ownStorage{}:
		return "it names a storage of its own (storage.command)"
	case s.Command != "":
		return ""
	case s.In == scenario.InService:
		return "its data lies in " + v.World.Service
	case s.Fencing == scenario.FencingOff:
		return "it wants a storage that checks no tokens (fencing: off)"
	case s.Fencing == scenario.FencingObserve:
		return "it wants a storage that only observes tokens (fencing: observe)"
	case s.Fencing != scenario.FencingOn:
		return fmt.Sprintf("it wants a storage with a check that is wrong (fencing: %s)", s.Fencing)
	case s.Bound != scenario.BoundNone:
		return fmt.Sprintf("it wants a storage that asks %s which tokens there are (bound: %s)", v.World.Service, s.Bound)
	case o.url != "" && slices.ContainsFunc(v.Steps, func(s scenario.Step) bool { return s.Form.Target == scenario.TargetStorage }):
		return "it kills or stops the storage, which --storage-command makes possible"
	}
	return ""
}

// keeps is why a variant cannot be run with a storage that keeps its data, or that loses it,
// where the storage is killed.
func (o ownStorage) keeps(speaks laws.Speaks, v *scenario.Variant) string {
	durable := v.World.Storage.Engine == scenario.EngineBolt
	killed := slices.ContainsFunc(v.Steps, func(s scenario.Step) bool { return s.Text == "kill storage" })
	switch {
	case o == ownStorage{} || !killed || durable == speaks.Durable:
		return ""
	case durable:
		return "it wants a storage that keeps its data when it is killed (engine: bolt)"
	}
	return "it wants a storage that loses its data when it is killed (engine: memory)"
}

// lacks is what a variant's clients ask for and the storage does not speak; "": nothing.
func lacks(speaks laws.Speaks, v *scenario.Variant) string {
	if !speaks.ByScope() {
		if what := beyondKeys(v); what != "" {
			return what + ", and the storage speaks " + speaks.Protocol + ", which has no word for that"
		}
	}
	changes := func(client string) bool {
		return slices.ContainsFunc(v.Steps, func(s scenario.Step) bool { return s.Actor == client && len(s.Changes) > 0 })
	}
	for _, name := range slices.Sorted(maps.Keys(v.Clients)) {
		c := v.Clients[name]
		switch {
		case c.Flag(setting.Numbered) && !(speaks.Sequence && speaks.Duplicates && speaks.Marks):
			return "a client numbers its requests, and the storage does not know Fencing-Sequence, Fencing-Duplicate and refusals that name the mark"
		case c.Values[setting.Mode] == setting.ModeShared && c.Values[setting.Claims] != setting.ClaimsExclusive && !speaks.Shared:
			return "a client shares its lock, and the storage does not know Fencing-Mode: shared"
		case c.Text(setting.Change) == setting.ChangeBatch && changes(name) && !speaks.Batch:
			return "a client changes several keys at once, and the storage knows no batches"
		}
	}
	return ""
}

// beyondKeys is what a variant's clients ask for, if that is more than a storage can be asked by
// contrib/lock's POST /, where each key is its own scope, nothing is deleted, and reads show no
// token; "": no more.
func beyondKeys(v *scenario.Variant) string {
	asks := func(verb scenario.Verb) bool {
		return slices.ContainsFunc(v.Steps, func(s scenario.Step) bool {
			return slices.Contains(strings.Fields(s.Form.Usage), string(verb))
		})
	}
	locks := make(map[string]bool)
	for _, s := range v.Steps {
		locks[s.Lock] = s.Lock != ""
	}
	scoped, shown := false, false
	for _, c := range v.Clients {
		locks[c.Lock] = true
		scoped = scoped || c.Values[setting.Scope] != setting.ScopeKey
		shown = shown || c.Values[setting.Reads] != setting.ReadsPlain
	}
	delete(locks, "")
	switch {
	case asks(scenario.Delete):
		return "a client deletes"
	case shown && (asks(scenario.Read) || asks(scenario.Count)):
		return "a client shows its token in a read"
	case scoped && (len(locks) > 1 || len(v.Keys()) > 1):
		return "a lock guards several keys, or a key has several locks"
	}
	return ""
}
