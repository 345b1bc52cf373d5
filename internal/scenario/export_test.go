package scenario

import "reflect"

// Usages are all forms of steps.
func Usages() []string {
	var list []string
	for _, actor := range append([]string{""}, actors...) {
		for _, f := range forms[actor] {
			list = append(list, f.usage)
		}
	}
	return list
}

// Values are what each setting and key can be, by its name; none where it is
// free.
func Values() map[string][]string {
	all := make(map[string][]string)
	var add func(t reflect.Type)
	add = func(t reflect.Type) {
		for i := range t.NumField() {
			r := ruleOf(t.Field(i))
			all[r.name] = append(all[r.name], r.enum...)
			if !r.leaf && t.Field(i).Type.Kind() == reflect.Struct {
				add(t.Field(i).Type)
			}
		}
	}
	for _, t := range []reflect.Type{reflect.TypeFor[document](), reflect.TypeFor[clientDoc](), reflect.TypeFor[variantDoc](), reflect.TypeFor[expectDoc]()} {
		add(t)
	}
	return all
}
