package hunt

import (
	"maps"
	"slices"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// plainer are the changes that make a world smaller: clients that are in none of the steps go, and a setting of the clients
// or of the servers gets its default. Each reports whether it changed anything.
func (w *World) plainer(steps []scenario.Step) (changes []func(*World) bool) {
	changes = append(changes, func(w *World) bool { return w.leaveOut(steps) })
	for _, s := range slices.Concat(setting.Client, w.service.Client) {
		changes = append(changes, func(w *World) (changed bool) {
			for _, c := range w.Variant.Clients {
				changed = plain(c.Values, s) || changed
			}
			return changed
		})
	}
	for _, s := range w.service.World {
		changes = append(changes, func(w *World) bool { return plain(w.Variant.World.Settings, s) })
	}
	return changes
}

// plain gives a setting its default, and reports whether it had another value.
func plain(values setting.Values, s setting.Setting) bool {
	value, given := values[s.Name]
	if !given || value == s.Default {
		return false
	}
	values[s.Name] = s.Default
	return true
}

// leaveOut takes away the clients of which no step speaks.
func (w *World) leaveOut(steps []scenario.Step) bool {
	idle := func(client string) bool {
		return !slices.ContainsFunc(steps, func(s scenario.Step) bool { return s.Client == client })
	}
	all := len(w.Scenario.Clients)
	w.Scenario.Clients = slices.DeleteFunc(w.Scenario.Clients, idle)
	maps.DeleteFunc(w.Variant.Clients, func(client string, _ scenario.Client) bool { return idle(client) })
	return len(w.Scenario.Clients) < all
}

// copied is a world that can be changed, and its copy is not.
func (w *World) copied() *World {
	c, s, v := *w, *w.Scenario, *w.Variant
	s.Clients = slices.Clone(s.Clients)
	v.World.Settings, v.Clients = maps.Clone(v.World.Settings), maps.Clone(v.Clients)
	for name, client := range v.Clients {
		client.Values = maps.Clone(client.Values)
		v.Clients[name] = client
	}
	c.Scenario, c.Variant = &s, &v
	return &c
}

// where is the world in which the smallest story of the finding is told.
func (f *Finding) where() *World {
	if f.smaller != nil {
		return f.smaller
	}
	return f.World
}

// parses reports whether the finding can be read as a scenario.
func (f *Finding) parses() bool {
	text, err := f.File()
	if err == nil {
		_, err = f.World.language.Parse("found", "found", text)
	}
	return err == nil
}
