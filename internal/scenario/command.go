package scenario

import "strings"

// Command is a client's step as its agent reads it (see "client agent --help").
func (s Step) Command() string {
	var words []string
	if s.Send {
		words = append(words, "send")
	}
	words = append(words, string(s.Verb))
	switch {
	case len(s.Changes) > 0:
		if s.Verb == Begin {
			words = append(words, string(Change))
		}
		for _, c := range s.Changes {
			words = append(words, c.Key+"="+c.Value)
		}
	case s.Verb == Begin:
		words = append(words, string(Write), s.Key+"="+s.Value)
	case s.Verb == Write:
		words = append(words, s.Key+"="+s.Value)
	case s.Key != "":
		words = append(words, s.Key)
	}
	return strings.Join(words, " ")
}
