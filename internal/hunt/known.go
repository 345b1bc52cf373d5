package hunt

import (
	"fmt"
	"slices"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// Known is the control among scenarios that has the same pitfall, as far as verdict, settings and steps tell; nil: it is
// known nowhere. Of several controls the one with the most steps in common is taken.
func (f *Finding) Known(list []*scenario.Scenario) (known *scenario.Scenario) {
	own, best := f.World.chosen(f.World.Variant), -1
	for _, s := range list {
		for i := range s.Variants {
			v := &s.Variants[i]
			if !v.Control || v.World.Service != f.World.Variant.World.Service || v.Expect.WantedVerdict() != f.verdict() {
				continue
			}
			theirs := f.World.chosen(v)
			if slices.ContainsFunc(theirs, func(choice string) bool { return !slices.Contains(own, choice) }) {
				continue
			}
			if score := 3*len(theirs) + f.alike(v); score > best {
				known, best = s, score
			}
		}
	}
	return known
}

// chosen are a variant's settings that are not the defaults, and its recipes, but for how long things last.
func (w *World) chosen(v *scenario.Variant) (list []string) {
	s := v.World.Storage
	list = append(list, "in="+s.In, "fencing="+s.Fencing)
	for _, c := range v.Clients {
		for _, known := range slices.Concat(setting.Client, w.service.Client) {
			value, given := c.Values[known.Name]
			if !given || known.Kind == setting.Time || value == known.Default && known.Name != service.By {
				continue
			}
			if choice := known.Name + "=" + value; !slices.Contains(list, choice) {
				list = append(list, choice)
			}
		}
	}
	return list
}

// alike is how many kinds of steps the finding and a variant share, less those that only one of them has.
func (f *Finding) alike(v *scenario.Variant) (score int) {
	kinds := func(steps []scenario.Step) (ids []string) {
		for _, s := range steps {
			if s.Verb != scenario.Await {
				ids = append(ids, s.ID)
			}
		}
		slices.Sort(ids)
		return slices.Compact(ids)
	}
	ours, theirs := kinds(f.Smallest()), kinds(v.Steps)
	for _, id := range ours {
		if slices.Contains(theirs, id) {
			score += 2
		}
	}
	return score - max(len(ours), len(theirs))
}

// Sure reports whether a finding came again, or was not told again yet.
func (f *Finding) Sure() bool { return f.Seen > 0 || f.Again == 0 }

// Smallest are the steps of the finding, as few as it is known to take.
func (f *Finding) Smallest() []scenario.Step {
	if f.Small != nil {
		return f.Small
	}
	return f.Steps
}

// File is the finding as a scenario, of which the same must come.
func (f *Finding) File() ([]byte, error) {
	found := *f.where().Scenario
	found.Title = fmt.Sprintf("A story that does harm, by the settings of %s", f.World.Name)
	if f.World.modelled != nil {
		found.Title = fmt.Sprintf("A story that the model tells in another way, by the settings of %s", f.World.Name)
	}
	found.Lesson, found.Helps, found.Source = f.Text, "", ""
	v := *f.where().Variant
	v.Name, v.About = "found", fmt.Sprintf("%s, in %d of %d runs", f.Kind, f.Seen, f.Again)
	return f.where().language.Format(&found, &v, f.Smallest(), f.verdict())
}
