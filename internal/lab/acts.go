package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// clientActs are what clients do by themselves: how it is written, and when. Their agents know how.
var clientActs = []*action{
	{Form: scenario.Form{Usage: "lock [NAME] [within TIME]", Check: checkLock,
		About: "It waits for the lock, also for one that it queued for; with a time for so long at most."}, do: (*run).lock},
	{Form: scenario.Form{Usage: "trylock [NAME]", Check: checkLock,
		About: "It takes the lock if that is free."}, do: (*run).act},
	{Form: scenario.Form{Usage: "queue [NAME]", Check: checkLock,
		About: "It asks for the lock; over when it stands in the queue."}, do: (*run).queue},
	{Form: scenario.Form{Usage: "leave [NAME]", Check: checkLeave,
		About: "It gives up its place in the queue."}, do: (*run).giveUp},
	{Form: scenario.Form{Usage: "unlock [NAME]", Check: checkUnlock,
		About: "It releases the lock."}, do: (*run).act},
	{Form: scenario.Form{Usage: "read KEY [under NAME]", Check: checkRead,
		About: "It reads from the storage."}, do: (*run).act},
	{Form: scenario.Form{Usage: "write KEY=VALUE [under NAME]", Check: checkWrites,
		About: "It writes to the storage, and shows its token: that of a lock which it has lost, too."}, do: (*run).act},
	{Form: scenario.Form{Usage: "delete KEY [under NAME]", Check: checkWrites,
		About: "It deletes a key of the storage."}, do: (*run).act},
	{Form: scenario.Form{Usage: "change KEY=VALUE KEY=VALUE … [under NAME]", Check: checkWrites,
		About: "It changes several keys, as its setting \"change\" says."}, do: (*run).act},
	{Form: scenario.Form{Usage: "begin lock [NAME]", Check: checkBeginLock,
		About: "It waits for the lock, takes it, and stands before it does what else there is to do, and before it knows that it has it."}, do: (*run).act},
	{Form: scenario.Form{Usage: "begin read KEY [under NAME]", Check: checkRead,
		About: "It stands right before the read."}, do: (*run).act},
	{Form: scenario.Form{Usage: "begin write KEY=VALUE [under NAME]", Check: checkWrites,
		About: "It looks whether it holds the lock, and stands right before the write."}, do: (*run).act},
	{Form: scenario.Form{Usage: "begin delete KEY [under NAME]", Check: checkWrites,
		About: "It looks whether it holds the lock, and stands right before the delete."}, do: (*run).act},
	{Form: scenario.Form{Usage: "begin change KEY=VALUE KEY=VALUE … [under NAME]", Check: checkWrites,
		About: "It looks whether it holds the lock, and stands before the change, or in the middle of it if it changes singly."}, do: (*run).act},
	{Form: scenario.Form{Usage: "begin unlock [NAME]", Check: checkUnlock,
		About: "It stands right before it releases the lock."}, do: (*run).act},
	{Form: scenario.Form{Usage: "finish", Check: checkFinish,
		About: "It does the rest of what it began, without looking again."}, do: (*run).act},
	{Form: scenario.Form{Usage: "retry", Check: checkRetry,
		About: "It does once more the last write, change, delete or unlock of unknown outcome."}, do: (*run).act},
	{Form: scenario.Form{Usage: "await loss [of NAME]", Check: scenario.MayHold,
		About: "It is told that its tenure is over."}, do: (*run).awaitLoss},
	{Form: scenario.Form{Usage: "send write KEY=VALUE [under NAME]", Check: checkWrites,
		About: "As write, but the step does not wait for the answer."}, do: (*run).send},
	{Form: scenario.Form{Usage: "send change KEY=VALUE KEY=VALUE … [under NAME]", Check: checkWrites,
		About: "As change, but the step does not wait for the answer."}, do: (*run).send},
	{Form: scenario.Form{Usage: "send delete KEY [under NAME]", Check: checkWrites,
		About: "As delete, but the step does not wait for the answer."}, do: (*run).send},
	{Form: scenario.Form{Usage: "send finish", Check: checkFinish,
		About: "As finish, but the step does not wait for the answer. A client that stands still hears it when it goes on."}, do: (*run).send},
	{Form: scenario.Form{Usage: "send retry", Check: checkRetry,
		About: "As retry, but the step does not wait for the answer."}, do: (*run).send},
}

// checkLock: it can be asked for, once.
func checkLock(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	name, lock := step.Client, s.Variant.LockOf(step)
	if slices.Contains(c.Queued, lock) && step.Verb != scenario.Lock {
		return fmt.Sprintf("%s stands in the queue of %s already: %q waits until the lock is its", name, lock, strings.TrimSpace("lock "+step.Lock))
	}
	if owner := s.LacksSession(name); owner != "" {
		return name + " shares the session of " + owner + ", which has none yet: it needs a step \"" + owner + ": lock\" before"
	}
	s.MayEnd = s.MayEnd || step.For != 0 || step.Verb == scenario.TryLock
	c.Ask(lock)
	c.Queued = slices.DeleteFunc(c.Queued, func(queued string) bool { return queued == lock })
	if step.Verb == scenario.Queue {
		c.Queued = append(c.Queued, lock)
	}
	return ""
}

// checkBeginLock: not all clients can stand there.
func checkBeginLock(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	if !s.Halfway() {
		return fmt.Sprintf("the clients of %s take a lock in one piece, and cannot stand in the middle: it needs a step \"lock\"", s.Variant.World.Service)
	}
	c.Begun, c.Taking = true, true
	return checkLock(s, c, step)
}

func checkLeave(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	lock := s.Variant.LockOf(step)
	i := slices.Index(c.Queued, lock)
	if i < 0 {
		return fmt.Sprintf("%s stands in no queue of %s here: it needs a step \"queue\" before", step.Client, lock)
	}
	c.Queued, s.MayEnd = slices.Delete(c.Queued, i, i+1), true
	return ""
}

// checkUnlock: one that names no lock may be of any.
func checkUnlock(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	if wrong := scenario.MayHold(s, c, step); wrong != "" {
		return wrong
	}
	c.Queued = slices.DeleteFunc(c.Queued, func(queued string) bool { return step.Lock == "" || queued == step.Lock })
	c.Retrying, s.MayEnd = true, true
	c.Begun = step.Verb == scenario.Begin
	return ""
}

// checkUnder: the lock that a step names was asked for. A step that names none needs no lock.
func checkUnder(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	if step.Lock == "" {
		return ""
	}
	return scenario.MayHold(s, c, step)
}

func checkRead(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	if wrong := checkUnder(s, c, step); wrong != "" {
		return wrong
	}
	s.Requests++
	c.Begun = step.Verb == scenario.Begin
	return ""
}

// checkWrites notes which keys a write, a delete or a change is of, and of how many requests it is.
func checkWrites(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	if wrong := checkUnder(s, c, step); wrong != "" {
		return wrong
	}
	writes := 1
	if s.Variant.Clients[step.Client].Text(setting.Change) == setting.ChangeSingly {
		writes = max(writes, len(step.Changes))
	}
	for _, key := range step.Keys() {
		s.Written[key] = true
	}
	if c.Half = nil; step.Verb == scenario.Begin && writes == 1 {
		c.Half = step.Changed()
	} else {
		s.Writes(step.Changed()...)
	}
	s.Requests += writes
	c.Last, c.Retrying = max(c.Last, writes), true
	c.Begun = step.Verb == scenario.Begin
	return ""
}

func checkFinish(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	if !c.Begun {
		return step.Client + " has begun nothing here: it needs a \"begin …\" before"
	}
	if step.Send && c.Taking {
		return step.Client + " is in the middle of a lock, which is no request to the storage: it needs a step \"finish\""
	}
	s.Writes(c.Half...)
	c.Begun, c.Taking, c.Half = false, false, nil
	return ""
}

func checkRetry(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	if !c.Retrying {
		return step.Client + " has done nothing before that it could try again"
	}
	s.Requests += c.Last
	return ""
}

// awaitExpiryAct waits for the end of a tenure, or place in a queue: of the named lock, else of the last.
var awaitExpiryAct = action{
	Form: scenario.Form{Actor: scenario.TheService, Usage: "await expiry of CLIENT [under NAME]", Dead: true, Check: checkExpiry,
		About: "The client's lease has run out."},
	do: (*run).awaitExpiry,
}

func checkExpiry(s *scenario.Story, c *scenario.ClientStory, step scenario.Step) string {
	if wrong := scenario.HasAsked(s, c, step); wrong != "" || !s.Keeps(step.Client) {
		return wrong
	}
	return keepsLease(step.Client)
}

// keepsLease is why the lease of a client does not run out, and what to do.
func keepsLease(client string) string {
	return fmt.Sprintf("%s runs, and keeps its lease: stop %[1]s first (pause without a time), or leave this step out", client)
}
