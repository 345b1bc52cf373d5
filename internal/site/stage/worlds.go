package stage

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/explore/tale"
	"github.com/fencelab/fencelab/internal/explore/world"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service/all"
	"github.com/fencelab/fencelab/scenarios"
)

// worlds are all that the model has.
type worlds struct {
	Abouts    map[string]map[string]string `json:"abouts"` // what a lock service's scenarios say about a step, by its form
	Scenarios []chapter                    `json:"scenarios"`
}

// chapter is a scenario that gcsim brings with it.
type chapter struct {
	Name     string    `json:"name"`
	Title    string    `json:"title"`
	Service  string    `json:"service"`
	Lesson   string    `json:"lesson"`
	Helps    string    `json:"helps"`
	Variants []Variant `json:"variants"` // that the model has, the control first
}

// Variant is one that the model has, and its story.
type Variant struct {
	Name    string     `json:"name"`
	Control bool       `json:"control"`
	World   tale.World `json:"world"`
	Plan    []string   `json:"plan"`
	Verdict string     `json:"verdict"` // that its story comes to
	About   string     `json:"about"`   // what sets it apart
}

// Variants are those of a scenario that the model has, the control first. The scenario is one that gcsim brings with it.
func Variants(scenario string) ([]Variant, error) {
	known, err := catalog()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(known.Scenarios, func(c chapter) bool { return c.Name == scenario })
	if i < 0 {
		return nil, nil
	}
	return known.Scenarios[i].Variants, nil
}

// catalog makes the worlds, in the order of the lock services.
var catalog = sync.OnceValues(func() (*worlds, error) {
	language := lab.Language(all.List)
	list := &worlds{Abouts: make(map[string]map[string]string)}
	for _, of := range language.Services {
		list.Abouts[of.Name] = abouts(language, of)
		files, err := fs.Glob(scenarios.FS, of.Name+"/*.yaml")
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			data, err := scenarios.FS.ReadFile(file)
			if err != nil {
				return nil, err
			}
			s, err := language.Parse(file, strings.TrimSuffix(path.Base(file), ".yaml"), data)
			if err != nil {
				return nil, err
			}
			c, err := chapterOf(language, s)
			if err != nil {
				return nil, err
			}
			if len(c.Variants) > 0 {
				list.Scenarios = append(list.Scenarios, c)
			}
		}
	}
	return list, nil
})

// abouts are what the scenarios of a lock service say about their steps, by their forms as the model has them.
func abouts(language *scenario.Language, of scenario.Service) map[string]string {
	list := make(map[string]string)
	for _, f := range slices.Concat(language.Forms, of.Forms) {
		list[strings.ReplaceAll(f.ID(), of.Name, scenario.TheService)] = f.About
	}
	return list
}

// chapterOf is a scenario with its variants but for those that the model does not have.
func chapterOf(language *scenario.Language, s *scenario.Scenario) (c chapter, err error) {
	c = chapter{Name: s.Name, Title: s.Title, Service: s.Variants[0].World.Service, Lesson: s.Lesson, Helps: s.Helps}
	for _, v := range s.HarmFirst() {
		w, err := world.Of(all.List, s, v)
		if err != nil {
			continue // the error says what the model lacks
		}
		if err := w.Fill(language, s.Title); err != nil {
			return c, err
		}
		w.Run.Title = s.Title
		plan, err := w.Plan()
		if err != nil {
			return c, err
		}
		_, about := story.Variant(history.Run{About: v.About, Fencing: w.Settings.Fence != model.FenceOff})
		c.Variants = append(c.Variants, Variant{Name: v.Name, About: about, Control: v.Control, World: w.World, Plan: plan, Verdict: v.Expect.WantedVerdict()})
	}
	return c, nil
}
