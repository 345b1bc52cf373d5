package model

import (
	"fmt"
	"slices"
	"strings"
)

// Verb is what a step does.
type Verb uint8

// The verbs. Those of the second group are faults and what undoes them.
const (
	Lock Verb = iota + 1
	LockWithin
	TryLock
	Queue
	Leave
	Unlock
	Read
	Write
	Delete
	Change
	BeginLock
	BeginRead
	BeginWrite
	BeginDelete
	BeginChange
	BeginUnlock
	Finish
	Retry
	SendWrite
	AwaitLoss

	PauseClient
	ResumeClient
	KillClient
	TerminateClient
	RestartClient
	CutClient
	DeafenClient
	HealClient
	DelayClient
	DeliverClient
	AwaitExpiry
	RevokeLease
	KillTheStorage
	RestartTheStorage
	SaveService
	RestoreService
)

// ids are the forms of the steps, as scenarios have them.
var ids = [...]string{
	Lock: "client: lock", LockWithin: "client: lock within TIME", TryLock: "client: trylock", Queue: "client: queue", Leave: "client: leave", Unlock: "client: unlock",
	Read: "client: read KEY", Write: "client: write KEY=VALUE", Delete: "client: delete KEY", Change: "client: change KEY=VALUE KEY=VALUE …",
	BeginLock: "client: begin lock", BeginRead: "client: begin read KEY", BeginWrite: "client: begin write KEY=VALUE",
	BeginDelete: "client: begin delete KEY", BeginChange: "client: begin change KEY=VALUE KEY=VALUE …", BeginUnlock: "client: begin unlock",
	Finish: "client: finish", Retry: "client: retry", SendWrite: "client: send write KEY=VALUE", AwaitLoss: "client: await loss",
	PauseClient: "gcsim: pause CLIENT", ResumeClient: "gcsim: resume CLIENT", KillClient: "gcsim: kill CLIENT", TerminateClient: "gcsim: terminate CLIENT", RestartClient: "gcsim: restart CLIENT",
	CutClient: "gcsim: partition CLIENT from SERVICE", DeafenClient: "gcsim: deafen CLIENT to SERVICE", HealClient: "gcsim: heal CLIENT",
	DelayClient: "gcsim: delay CLIENT to storage", DeliverClient: "gcsim: deliver CLIENT",
	AwaitExpiry: "SERVICE: await expiry of CLIENT", RevokeLease: "gcsim: revoke CLIENT",
	KillTheStorage: "gcsim: kill storage", RestartTheStorage: "gcsim: restart storage",
	SaveService: "gcsim: save SERVICE", RestoreService: "gcsim: restore SERVICE",
}

// VerbOf is the verb of a form; 0: the model has none.
func VerbOf(id string) Verb { return Verb(max(0, slices.Index(ids[:], id))) }

// Writes reports whether a step gives values to keys.
func (v Verb) Writes() bool {
	return v == Write || v == Change || v == BeginWrite || v == BeginChange || v == SendWrite
}

// Fault is the fault of which a verb is a part; 0: none.
func (v Verb) Fault() Faults {
	switch v {
	case PauseClient, ResumeClient:
		return Pause
	case KillClient, RestartClient:
		return Kill
	case TerminateClient:
		return Terminate
	case CutClient:
		return Cut
	case DeafenClient:
		return Deafen
	case SendWrite, DelayClient, DeliverClient:
		return Delay
	case RevokeLease:
		return Revoke
	case KillTheStorage, RestartTheStorage:
		return KillStorage
	case SaveService, RestoreService:
		return Restore
	}
	return 0
}

// Step is a step of a story.
type Step struct {
	Verb   Verb
	Client uint8 // whom it is about
	Key    uint8
}

// Names are the words of a world, in which steps are written.
type Names struct {
	Service string
	Clients []string
	Keys    []string
	Changed uint // a bit for each key that a change is of
}

// Value is what a client writes in one of its writes, which are counted.
func (n Names) Value(client uint8, count int) string {
	return fmt.Sprintf("%d-from-%s", count, n.Clients[client])
}

// Text is a step in the language of scenarios. The count says which of its client's writes it is.
func (n Names) Text(s Step, count int) string {
	client, value := n.Clients[s.Client], n.Value(s.Client, count)
	var all []string
	for i, key := range n.Keys {
		if n.Changed&(1<<i) != 0 {
			all = append(all, key+"="+value)
		}
	}
	return strings.NewReplacer("client: ", client+": ", "CLIENT", client, "SERVICE", n.Service, "KEY=VALUE KEY=VALUE …", strings.Join(all, " "),
		"KEY", n.Keys[s.Key], "VALUE", value).Replace(ids[s.Verb])
}
