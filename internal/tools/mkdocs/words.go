package main

import (
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/all"
)

const wordsFile = "docs/scenarios.md"

// madeTable is a table of scenarios.md: what it is of, and of which service, or of several.
var madeTable = regexp.MustCompile(`(?s)<!-- (world|clients|recipes) of (\w+): begin -->\n.*?<!-- end -->`)

// namesInWords is a place in scenarios.md for the names of all services.
var namesInWords = regexp.MustCompile(`<!-- services: begin -->.*?<!-- end -->`)

// furtherWords is where scenarios.md gets a section for a table that has no place.
const furtherWords = "<!-- sections of further services: above -->\n"

// words is scenarios.md, in which the tables of what the services' worlds and clients can be set
// to, and of their recipes, are what the settings say of themselves.
func words(root fs.FS) string {
	text := string(fail.Must(fs.ReadFile(root, wordsFile)))
	var further strings.Builder
	for _, s := range all.Named {
		for _, what := range []string{"clients", "recipes"} {
			begin := fmt.Sprintf("<!-- %s of %s: begin -->\n", what, s.Name)
			if tableOfWords(what, s.Name) == "" || strings.Contains(text, begin) {
				continue
			}
			title := map[string]string{"clients": "Clients", "recipes": "Recipes"}[what]
			fmt.Fprintf(&further, "### %s of %s\n\n%s<!-- end -->\n\n", title, s.Name, begin)
		}
	}
	before, after, found := strings.Cut(text, furtherWords)
	if !found {
		fail.If(fmt.Errorf("%s has no place for the sections of further services: want the line %s", wordsFile, furtherWords))
	}
	text = before + further.String() + furtherWords + after
	text = namesInWords.ReplaceAllString(text, "<!-- services: begin -->"+inCode(service.Names(all.List))+"<!-- end -->")
	return madeTable.ReplaceAllStringFunc(text, func(was string) string {
		m := madeTable.FindStringSubmatch(was)
		begin, _, _ := strings.Cut(was, "\n")
		return begin + "\n" + tableOfWords(m[1], m[2]) + "<!-- end -->"
	})
}

// ofSeveral is a table of what several services have alike, with their names; that of a service lacks
// it. In ofAll each has its name.
const (
	ofSeveral = "several"
	ofAll     = "all"
)

// tableOfWords is "" where there is nothing to be chosen.
func tableOfWords(what, name string) string {
	order, have := entries(what)
	var rows string
	for _, e := range order {
		switch {
		case name == ofAll, name == ofSeveral && len(have[e]) > 1:
			rows += fmt.Sprintf("| %s | %s | %s | %s |\n", e.name, inCode(have[e]), e.is, e.about)
		case slices.Equal(have[e], []string{name}):
			rows += fmt.Sprintf("| %s | %s | %s |\n", e.name, e.is, e.about)
		}
	}
	if rows == "" {
		return ""
	}
	columns := map[string][]string{"world": {"setting", "default"}, "clients": {"setting", "default"}, "recipes": {"recipe", "token"}}[what]
	if name == ofAll || name == ofSeveral {
		columns = slices.Insert(slices.Clone(columns), 1, "of")
	}
	return "| " + strings.Join(columns, " | ") + " | what it is |\n|" + strings.Repeat("---|", len(columns)+1) + "\n" + rows
}

// entry is a setting, with its default, or a recipe, and whether it has a token.
type entry struct{ name, is, about string }

// entries are those of all services, and which services have each.
func entries(what string) (order []entry, have map[entry][]string) {
	have = make(map[entry][]string)
	for _, s := range all.Named {
		list := map[string]func(*service.Service) []entry{
			"world":   func(s *service.Service) []entry { return settings(s.World) },
			"clients": func(s *service.Service) []entry { return settings(s.Client) },
			"recipes": recipesOf,
		}[what](s)
		for _, e := range list {
			if have[e] == nil {
				order = append(order, e)
			}
			have[e] = append(have[e], s.Name)
		}
	}
	return order, have
}

// settings leave out what scenarios.md says of all services at once: that a client has a recipe, and
// the ways to look that all clients have.
func settings(list []setting.Setting) (entries []entry) {
	for _, s := range list {
		is := "`" + s.Default + "`"
		if s.Default == "" {
			is = "required"
		}
		if s.Name != service.By {
			entries = append(entries, entry{"`" + s.Name + "`", is, strings.TrimPrefix(inMarkdown(s.About, s.Of), inMarkdown(setting.LookAbout, nil))})
		}
	}
	return entries
}

func recipesOf(s *service.Service) (entries []entry) {
	by, ok := setting.Find(s.Client, service.By)
	if !ok {
		return nil
	}
	client := setting.Defaults(slices.Concat(setting.Client, s.Client))
	_, rest, _ := strings.Cut(by.About, ". ")
	for n, recipe := range by.Of {
		rest = strings.TrimPrefix(rest, recipe+": ")
		about := rest
		if n+1 < len(by.Of) {
			about, rest, _ = strings.Cut(rest, " "+by.Of[n+1]+": ")
		}
		client[service.By] = recipe
		token := "yes"
		if s.Shows(client) == history.ShowsNone {
			token = "no"
		}
		name := "`" + recipe + "`"
		if recipe == by.Default {
			name += ", the default"
		}
		entries = append(entries, entry{name, token, inMarkdown(about, nil)})
	}
	return entries
}

func inCode(names []string) string { return "`" + strings.Join(names, "`, `") + "`" }

// What of a text about settings is code, and what is a link.
var (
	labels     = regexp.MustCompile(`(^|[.;] )([\w/-]+(?:, [\w/-]+)*): `) // values, before what they mean
	mapping    = regexp.MustCompile(`\b[a-z]+: \{[^}]*\}`)
	pair       = regexp.MustCompile(`\b([a-z]+): ([a-z-]+)`) // of a setting and its value
	underscore = regexp.MustCompile(`\b[a-z]*_[a-z_]+`)
	compound   = regexp.MustCompile(`\b[a-z]+(?:[-/][a-z]+)+`)
	links      = []struct {
		of *regexp.Regexp
		to string
	}{
		{regexp.MustCompile(`\bin Java\b`), "[in Java](java.md)"},
		{regexp.MustCompile(`\b([Pp]ackage) ((?:etcd|redis|sql|zk|es)lock)\b`), "$1 [$2](../pkg/lock/$2/$2.go)"},
		{regexp.MustCompile(`\bdocs/([\w/-]+)\.md`), "[$1]($1.md)"},
	}
)

// inMarkdown is what a setting or a recipe says of itself, with all values that the setting can have.
func inMarkdown(about string, values []string) string {
	known := map[string]bool{"own": true, "true": true}
	for _, s := range all.Named {
		for _, s := range slices.Concat(s.World, s.Client) {
			known[s.Name] = true
			for _, value := range s.Of {
				known[value] = true
			}
		}
	}
	about = labels.ReplaceAllStringFunc(about, func(label string) string {
		m := labels.FindStringSubmatch(label)
		return m[1] + "`" + strings.ReplaceAll(m[2], ", ", "`, `") + "`: "
	})
	quoted := func(what string) string { return "`" + what + "`" }
	for _, rule := range []struct {
		of *regexp.Regexp
		to func(string) string
	}{
		{mapping, quoted},
		{pair, func(what string) string {
			if m := pair.FindStringSubmatch(what); known[m[1]] && known[m[2]] {
				return quoted(what)
			}
			return what
		}},
		{underscore, quoted},
		{compound, func(what string) string {
			if known[what] {
				return quoted(what)
			}
			return what
		}},
	} {
		about = outsideCode(about, func(text string) string { return rule.of.ReplaceAllStringFunc(text, rule.to) })
	}
	for _, link := range links {
		about = outsideCode(about, func(text string) string { return link.of.ReplaceAllString(text, link.to) })
	}
	var untold []string
	for _, v := range values {
		if !strings.Contains(about, quoted(v)) {
			untold = append(untold, quoted(v))
		}
	}
	if len(untold) > 0 {
		about += " Values: " + strings.Join(untold, ", ") + "."
	}
	return about
}

// outsideCode changes what of a text is not between backquotes.
func outsideCode(text string, change func(string) string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = change(parts[i])
	}
	return strings.Join(parts, "`")
}
