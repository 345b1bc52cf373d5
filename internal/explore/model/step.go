package model

import (
	"fmt"
	"slices"
	"strings"
)

// Verb is what a step does.
type Verb uint8

// The verbs. Those of the second group are faults and what undoes them. What a client begins stands in the order of what
// it does at once.
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
	KillTheNode
	RestartTheNode
	JumpClock
	FillNode
)

// ids are the forms of the steps, as scenarios have them.
var ids = [...]string{
	Lock: "client: lock", LockWithin: "client: lock within 200ms", TryLock: "client: trylock", Queue: "client: queue", Leave: "client: leave", Unlock: "client: unlock",
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
	KillTheNode: "gcsim: kill NODE", RestartTheNode: "gcsim: restart NODE", JumpClock: "gcsim: jump NODE for TIME", FillNode: "gcsim: fill NODE",
}

// VerbOf is the verb of a form; 0: the model has none. LockWithin's form is Lock's, with a time.
func VerbOf(id string) Verb { return Verb(max(0, slices.Index(ids[:], id))) }

// faults are the faults of which verbs are a part.
var faults = [...]Faults{
	SendWrite: Delay, PauseClient: Pause, ResumeClient: Pause, KillClient: Kill, TerminateClient: Terminate, RestartClient: Kill,
	CutClient: Cut, DeafenClient: Deafen, DelayClient: Delay, DeliverClient: Delay, RevokeLease: Revoke,
	KillTheStorage: KillStorage, RestartTheStorage: KillStorage, SaveService: Restore, RestoreService: Restore,
	KillTheNode: KillNode, RestartTheNode: KillNode, JumpClock: Clock, FillNode: Evict,
}

// Form is how scenarios write a step, with words in capitals for what differs.
func (v Verb) Form() string { return ids[v] }

// OfNode reports whether a step is about a node.
func (v Verb) OfNode() bool { return v >= KillTheNode }

// Fault is the fault of which a verb is a part; 0: none.
func (v Verb) Fault() Faults { return faults[v] }

// asks is what a client asks of the storage by a verb: Read, Write, Delete or Change; 0: nothing. begins: it stands right before that.
func (v Verb) asks() (request Verb, begins bool) {
	switch {
	case v >= Read && v <= Change:
		return v, false
	case v >= BeginRead && v <= BeginChange:
		return v - BeginRead + Read, true
	case v == SendWrite:
		return Write, false
	}
	return 0, false
}

// Writes reports whether a step gives values to keys.
func (v Verb) Writes() bool {
	request, _ := v.asks()
	return request == Write || request == Change
}

// Step is a step of a story.
type Step struct {
	Verb   Verb
	Client uint8 // whom it is about
	Key    uint8
	Node   uint8
}

// Names are the words of a world, in which steps are written.
type Names struct {
	Service string
	Clients []string
	Keys    []string
	Changed uint            // a bit for each key that a change is of
	Says    map[Verb]string // steps that this world writes otherwise, in lines
}

// Value is what a client writes by one of its requests, which are counted.
func (n Names) Value(client, asked uint8) string {
	if asked == 1 {
		return "from-" + n.Clients[client]
	}
	return fmt.Sprintf("from-%s-%d", n.Clients[client], asked)
}

// Node is the name of a node, which are counted from 0.
func (n Names) Node(node uint8) string { return fmt.Sprint(n.Service, node+1) }

// Text is a step in the language of scenarios, in one line or several. If the step is a request, asked says which one of its client's.
func (n Names) Text(s Step, asked uint8) string {
	if says := n.Says[s.Verb]; says != "" {
		return says
	}
	client, value := n.Clients[s.Client], n.Value(s.Client, asked)
	var all []string
	for i, key := range n.Keys {
		if n.Changed&(1<<i) != 0 {
			all = append(all, key+"="+value)
		}
	}
	return strings.NewReplacer("client: ", client+": ", "CLIENT", client, "SERVICE", n.Service,
		"NODE", n.Node(s.Node), "TIME", "60m", "KEY=VALUE KEY=VALUE …", strings.Join(all, " "),
		"KEY", n.Keys[s.Key], "VALUE", value).Replace(ids[s.Verb])
}
