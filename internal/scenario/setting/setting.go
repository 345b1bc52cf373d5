// Package setting describes what can be chosen: in a scenario's world, of a client, on a command line. Each
// choice is declared once, and parsers, schemas and flags go by that.
package setting

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Setting is one choice. As JSON it is what people are shown of it.
type Setting struct {
	Name     string   `json:"name"`
	About    string   `json:"about"` // what it is, and what each value means, in sentences
	Kind     Kind     `json:"-"`
	Default  string   `json:"default"`      // holds where nothing is chosen
	Of       []string `json:"of,omitempty"` // all values that it can have; none where it is free
	Pattern  string   `json:"-"`            // a regular expression of all values; "": all of its kind
	Want     string   `json:"-"`            // the same in words
	Required bool     `json:"-"`            // there is no default, and no variant can change it
}

// Kind is what a value looks like.
type Kind int

const (
	Text   Kind = iota
	Number      // a whole number
	Flag        // true or false
	Time        // a duration, as package time writes it
	Words       // a list of texts, as a JSON array; "" is none
)

// Values are what was chosen, by the settings' names, as it is written.
type Values map[string]string

func Defaults(list []Setting) Values {
	v := make(Values)
	for _, s := range list {
		v[s.Name] = s.Default
	}
	return v
}

// Text is a value as written. A name that nobody declared, or a wrong kind, is a mistake of the program.
func (v Values) Text(name string) string {
	text, declared := v[name]
	if !declared {
		panic(fmt.Sprintf("no setting is called %q", name))
	}
	return text
}

func (v Values) Number(name string) int { return parsed(v, name, strconv.Atoi) }

func (v Values) Flag(name string) bool { return parsed(v, name, strconv.ParseBool) }

func (v Values) Time(name string) time.Duration { return parsed(v, name, time.ParseDuration) }

func (v Values) Words(name string) []string { return parsed(v, name, words) }

func words(text string) (list []string, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &list)
	}
	return list, err
}

func parsed[T any](v Values, name string, parse func(string) (T, error)) T {
	value, err := parse(v.Text(name))
	if err != nil {
		panic(fmt.Sprintf("setting %q: %v", name, err))
	}
	return value
}

func Find(list []Setting, name string) (s Setting, ok bool) {
	i := slices.IndexFunc(list, func(s Setting) bool { return s.Name == name })
	if i < 0 {
		return s, false
	}
	return list[i], true
}

// Complete are the chosen values, and the defaults of the rest. It refuses what no setting can be.
func Complete(list []Setting, chosen Values) (Values, error) {
	v := Defaults(list)
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		s, ok := Find(list, name)
		if !ok {
			return nil, fmt.Errorf("%s is %q, and there is no such setting here", name, chosen[name])
		}
		if !s.takes(chosen[name]) {
			return nil, fmt.Errorf("%s is %q, want %s", name, chosen[name], s.want())
		}
		v[name] = chosen[name]
	}
	return v, nil
}

func (s Setting) takes(text string) bool {
	if len(s.Of) > 0 && !slices.Contains(s.Of, text) {
		return false
	}
	if s.Pattern != "" && !regexp.MustCompile(s.Pattern).MatchString(text) {
		return false
	}
	var err error
	switch s.Kind {
	case Number:
		_, err = strconv.Atoi(text)
	case Flag:
		_, err = strconv.ParseBool(text)
	case Time:
		_, err = time.ParseDuration(text)
	case Words:
		_, err = words(text)
	}
	return err == nil
}

func (s Setting) want() string {
	if len(s.Of) > 0 {
		return strings.Join(s.Of, ", ")
	}
	return cmp.Or(s.Want, map[Kind]string{Number: "a whole number", Flag: "true or false", Time: "a duration, like 5s or 500ms", Words: `a JSON array of texts, like ["a", "b"]`}[s.Kind], "another text")
}

// Value is a pflag.Value of a setting. It keeps what is chosen in Values, for Complete to judge.
type Value struct {
	Setting
	Values Values
}

func (f *Value) String() string { return cmp.Or(f.Values[f.Name], f.Default) }

func (f *Value) Set(text string) error {
	f.Values[f.Name] = text
	return nil
}

func (f *Value) Type() string {
	if len(f.Of) > 0 {
		return strings.Join(f.Of, "|")
	}
	return cmp.Or(map[Kind]string{Number: "int", Flag: "bool", Time: "duration"}[f.Kind], "string")
}
