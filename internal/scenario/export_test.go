package scenario

import (
	"reflect"

	"github.com/fencelab/fencelab/internal/scenario/setting"
)

var Excerpt = excerpt

// Usages are all forms of steps.
func Usages(l *Language) []string {
	var list []string
	for i := range l.Services {
		s := &l.Services[i]
		forms := l.forms(s)
		for _, actor := range append([]string{""}, s.actors()...) {
			for _, f := range forms[actor] {
				list = append(list, f.Usage)
			}
		}
	}
	return list
}

// Values are what each setting and key can be, by its name; none where it is
// free.
func Values(l *Language) map[string][]string {
	all := make(map[string][]string)
	add := func(t reflect.Type) {
		for _, name := range fieldNames(t) {
			f, _ := t.FieldByNameFunc(func(field string) bool { f, _ := t.FieldByName(field); return f.Tag.Get("yaml") == name })
			s := settingOf(f)
			all[s.Name] = append(all[s.Name], s.Of...)
		}
	}
	for _, t := range []reflect.Type{reflect.TypeFor[document](), reflect.TypeFor[variantDoc](), reflect.TypeFor[expectDoc]()} {
		add(t)
	}
	note := func(list []setting.Setting) {
		for _, s := range list {
			all[s.Name] = append(all[s.Name], s.Of...)
		}
	}
	all[storageName] = nil
	for i := range l.Services {
		s := &l.Services[i]
		all[s.Name] = nil
		for _, group := range s.worldGroups() {
			note(group.list)
		}
		note(s.clientSettings())
	}
	return all
}
