package scenario

import (
	"fmt"
	"slices"
	"strings"
)

// Needs says why the variant needs an etcd of its own, whose members gcsim
// controls, as in "it wants 3 etcd members and stops etcd's leader". It is ""
// where any etcd will do.
func (v *Variant) Needs() string {
	var why []string
	add := func(reason string) {
		if !slices.Contains(why, reason) {
			why = append(why, reason)
		}
	}
	if n := v.World.Etcd.Members; n != 1 {
		add(fmt.Sprintf("wants %d etcd members", n))
	}
	for _, step := range v.Steps {
		switch {
		case step.Verb == Pause && step.Client == TargetLeader:
			add("stops etcd's leader")
		case step.Verb == Restore:
			add("restores etcd from a snapshot")
		}
	}
	for _, c := range v.Clients {
		if c.Member != MemberAny {
			add("has clients of single members of etcd")
		}
	}
	if len(why) == 0 {
		return ""
	}
	last := len(why) - 1
	return "it " + strings.TrimPrefix(strings.Join(why[:last], ", ")+" and "+why[last], " and ")
}
