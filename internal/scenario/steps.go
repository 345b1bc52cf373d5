package scenario

import (
	"slices"
	"strings"
)

// parseSteps reads the steps and follows the story: what cannot happen, like
// the resuming of a client that was not paused, is an error of the file, found
// before anything runs.
func parseSteps(list []ordered[words], clients []string) ([]Step, error) {
	var steps []Step
	fate := make(map[string]Verb) // of a client that cannot act now: the verb that did it
	loaded := make(map[string]bool)
	begun := make(map[string]bool)
	for _, item := range list {
		if len(item.entries) != 1 {
			return nil, errorAt(item.node, "a step is one \"actor: what it does\"")
		}
		e := item.entries[0]
		step, err := parseStep(e, clients)
		if err != nil {
			return nil, err
		}
		now := fate[step.Client]
		wrong := func(format string, args ...any) ([]Step, error) {
			return nil, errorAt(e.value.node, format, args...)
		}
		switch {
		case now == Kill && step.Verb != AwaitExpiry:
			return wrong("%s was killed before, nothing can be done with it", step.Client)
		case step.Verb == Resume && now != Pause:
			return wrong("%s is not paused here", step.Client)
		case step.Verb == Await && now != GC:
			return wrong("no collection runs in %s here", step.Client)
		case step.Verb == GC && !loaded[step.Client]:
			return wrong("a collection in %s would be over in a moment: it needs a step \"gcsim: load %s\" before", step.Client, step.Client)
		case step.Verb == Finish && !begun[step.Client]:
			return wrong("%s has begun no write here", step.Client)
		case begun[step.Client] && step.Actor == step.Client && step.Verb != Finish:
			return wrong("%s has begun a write: it can do nothing else until it finishes", step.Client)
		case now != "" && !slices.Contains([]Verb{Resume, Await, Kill, AwaitExpiry}, step.Verb):
			return wrong("%s stands still here (%s), it can do nothing", step.Client, now)
		}
		switch step.Verb {
		case Pause, GC, Kill:
			fate[step.Client] = step.Verb
		case Resume, Await:
			delete(fate, step.Client)
		case Begin:
			begun[step.Client] = true
		case Finish:
			delete(begun, step.Client)
		case Load:
			loaded[step.Client] = true
		}
		steps = append(steps, step)
	}
	return steps, nil
}

func parseStep(e entry[words], clients []string) (Step, error) {
	step := Step{Actor: e.name, Line: e.node.GetToken().Position.Line}
	verb, rest, _ := strings.Cut(e.value.text, " ")
	step.Verb = Verb(verb)
	wrong := func(format string, args ...any) (Step, error) { return step, errorAt(e.value.node, format, args...) }
	switch {
	case e.name == ActorEtcd:
		client, ok := strings.CutPrefix(e.value.text, string(AwaitExpiry)+" ")
		if !ok {
			return wrong("etcd cannot %q, only \"%s CLIENT\"", e.value.text, AwaitExpiry)
		}
		step.Verb, step.Client = AwaitExpiry, client
	case e.name == ActorLab:
		faults := []Verb{Pause, Resume, Kill, Load, GC, Await}
		if !slices.Contains(faults, step.Verb) {
			return wrong("gcsim cannot %q, only %s CLIENT", verb, list(faults))
		}
		step.Client = rest
	case slices.Contains(clients, e.name):
		step.Client = e.name
		switch step.Verb {
		case Lock, TryLock, Unlock, Finish:
			if rest != "" {
				return wrong("%q stands alone, %q is too much: the lock is the client's", verb, rest)
			}
		case Read, Delete:
			step.Key = rest
		case Begin:
			var isWrite, ok bool
			rest, isWrite = strings.CutPrefix(rest, "write ")
			if step.Key, step.Value, ok = strings.Cut(rest, "="); !ok || !isWrite {
				return wrong("want \"begin write KEY=VALUE\"")
			}
		case Write:
			var ok bool
			if step.Key, step.Value, ok = strings.Cut(rest, "="); !ok {
				return wrong("want \"write KEY=VALUE\"")
			}
		default:
			verbs := []Verb{Lock, TryLock, Unlock, Read, Write, Delete, Begin, Finish}
			return wrong("a client cannot %q, only %s", verb, list(verbs))
		}
		if step.Key == "" && slices.Contains([]Verb{Read, Write, Delete, Begin}, step.Verb) {
			return wrong("%s of which key?", verb)
		}
		if step.Key != strings.TrimSpace(step.Key) {
			return wrong("the key %q begins or ends with a space", step.Key)
		}
	default:
		return step, errorAt(e.node, "unknown actor %q, want etcd, gcsim or a client: %s", e.name, strings.Join(clients, ", "))
	}
	if !slices.Contains(clients, step.Client) {
		return wrong("unknown client %q, want %s", step.Client, strings.Join(clients, ", "))
	}
	return step, nil
}

func list(verbs []Verb) string {
	names := make([]string, len(verbs))
	for i, v := range verbs {
		names[i] = string(v)
	}
	return strings.Join(names, ", ")
}
