package linear

import (
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// scope is the state of one scope: its marks and its keys. A step makes a new one.
type scope struct {
	mark, sequence int64 // of exclusive claims
	shared         int64 // the mark of shared claims, if that is above; else 0
	items          map[string]item
}

type item struct {
	value string
	token int64
}

var model = porcupine.Model{
	Partition: byScope,
	Init:      func() any { return scope{} },
	Step: func(state, input, output any) (bool, any) {
		return state.(scope).step(input.(Input), output.(Output))
	},
	Equal: func(a, b any) bool {
		s, t := a.(scope), b.(scope)
		return s.mark == t.mark && s.sequence == t.sequence && s.shared == t.shared && maps.Equal(s.items, t.items)
	},
	Hash: func(state any) uint64 { return state.(scope).hash() },
	DescribeOperation: func(input, output any) string {
		return input.(Input).String() + " → " + output.(Output).String()
	},
	DescribeState: func(state any) string { return state.(scope).String() },
}

// byScope parts a history: what happens in one scope does not touch another.
func byScope(history []porcupine.Operation) [][]porcupine.Operation {
	parts := make(map[string][]porcupine.Operation)
	for _, op := range history {
		name := op.Input.(Input).Scope
		parts[name] = append(parts[name], op)
	}
	var list [][]porcupine.Operation
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		list = append(list, parts[name])
	}
	return list
}

// step reports whether an operation can have this output in the state, and the
// state after it. One with an unknown outcome does what the state allows; had it
// not happened at all, that would be the same as happening after all others.
func (s scope) step(in Input, out Output) (bool, scope) {
	switch should := s.judge(in); {
	case out.Outcome == Unknown && should == Done:
		return true, s.after(in)
	case out.Outcome == Unknown:
		return true, s
	case out.Outcome == Ahead:
		// What the issuer has given out is not known here, but no token that was admitted is ahead.
		return should == Done && in.Token > out.Bound && in.Token > max(s.mark, s.shared), s
	case in.Kind == Mark:
		return out.Outcome == Done && out.Mark == s.mark && out.Sequence == s.sequence && out.Shared == s.shared, s
	case should == Stale:
		told := out.Sequence == 0 || out.Sequence == s.sequence
		return out.Outcome == Stale && (out.Bare || out.Mark == s.refusing(in)) && told, s
	case should != Done:
		return out.Outcome == should, s
	case in.Kind == Read:
		found, ok := s.items[in.Key]
		if ok {
			told := out.Bare || out.Token == found.token
			return out.Outcome == Done && out.Value == found.value && told, s.after(in)
		}
		return out.Outcome == NotFound, s.after(in)
	}
	return out.Outcome == Done, s.after(in)
}

// refusing is the mark below which a claim is stale.
func (s scope) refusing(in Input) int64 {
	if in.Shared {
		return s.mark
	}
	return max(s.mark, s.shared)
}

func (s scope) judge(in Input) Outcome {
	if in.Token < 0 || in.Sequence < 0 {
		return Invalid
	}
	if in.Shared && in.Sequence != 0 && in.Token != 0 && in.Kind != Read {
		return Invalid
	}
	if in.Token == 0 {
		if in.Kind == Read || in.Kind == Mark {
			return Done
		}
		return Missing
	}
	if in.Token < s.refusing(in) {
		return Stale
	}
	if in.Kind != Read && in.Sequence != 0 && in.Token == s.mark {
		if in.Sequence < s.sequence {
			return Stale
		}
		if in.Sequence == s.sequence {
			return Duplicate
		}
	}
	return Done
}

func (s scope) after(in Input) scope {
	switch {
	case in.Shared && in.Token > s.mark:
		s.shared = max(s.shared, in.Token)
	case !in.Shared && in.Token > s.mark:
		s.mark, s.sequence, s.shared = in.Token, 0, 0
	}
	if in.Kind == Read || in.Kind == Mark {
		return s
	}
	s.sequence = max(s.sequence, in.Sequence)
	items := maps.Clone(s.items)
	if items == nil {
		items = make(map[string]item)
	}
	for _, c := range in.Changes {
		if c.Delete {
			delete(items, c.Key)
		} else {
			items[c.Key] = item{c.Value, in.Token}
		}
	}
	s.items = items
	return s
}

var seed = maphash.MakeSeed()

// hash is the same for equal states, whatever the order of their keys.
func (s scope) hash() uint64 {
	h := maphash.Comparable(seed, [3]int64{s.mark, s.sequence, s.shared})
	for key, it := range s.items {
		h ^= maphash.Comparable(seed, key) * maphash.Comparable(seed, it)
	}
	return h
}

func (s scope) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "mark %d.%d", s.mark, s.sequence)
	if s.shared != 0 {
		fmt.Fprintf(&b, ", shared %d", s.shared)
	}
	for _, key := range slices.Sorted(maps.Keys(s.items)) {
		fmt.Fprintf(&b, ", %s=%s by %d", key, s.items[key].value, s.items[key].token)
	}
	return b.String()
}

func (in Input) String() string {
	var b strings.Builder
	if in.Name != "" {
		fmt.Fprintf(&b, "%s: ", in.Name)
	}
	fmt.Fprintf(&b, "%s %s", in.Kind, in.Scope)
	if in.Token != 0 || in.Sequence != 0 {
		fmt.Fprintf(&b, " by %d.%d", in.Token, in.Sequence)
	}
	if in.Shared {
		b.WriteString(" shared")
	}
	if in.Key != "" {
		fmt.Fprintf(&b, ": %s", in.Key)
	}
	for i, c := range in.Changes {
		b.WriteString([]string{": ", ", "}[min(i, 1)])
		if c.Delete {
			b.WriteString("no " + c.Key)
		} else {
			b.WriteString(c.Key + "=" + c.Value)
		}
	}
	return b.String()
}

func (out Output) String() string {
	switch {
	case out.Outcome == Done && out.Bare:
		return out.Value
	case out.Outcome == Done && out.Value != "":
		return fmt.Sprintf("%s by %d", out.Value, out.Token)
	case out.Outcome == Done && out.Mark != 0, out.Outcome == Stale && !out.Bare:
		return fmt.Sprintf("%s, mark %d.%d", out.Outcome, out.Mark, out.Sequence)
	case out.Outcome == Ahead && out.Bound != 0:
		return fmt.Sprintf("ahead of %d", out.Bound)
	}
	return string(out.Outcome)
}
