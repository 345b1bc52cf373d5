package model

import (
	"fmt"
	"strings"
)

// Verb is what a step does.
type Verb uint8

// The verbs. Those of the second group are faults and what undoes them.
const (
	Lock Verb = iota + 1
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

	PauseClient
	ResumeClient
	KillClient
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

// texts are the steps in the language of scenarios.
var texts = [...]string{
	Lock: "CLIENT: lock", Queue: "CLIENT: queue", Leave: "CLIENT: leave", Unlock: "CLIENT: unlock",
	Read: "CLIENT: read KEY", Write: "CLIENT: write KEY=VALUE", Delete: "CLIENT: delete KEY", Change: "CLIENT: change ALL",
	BeginLock: "CLIENT: begin lock", BeginRead: "CLIENT: begin read KEY", BeginWrite: "CLIENT: begin write KEY=VALUE",
	BeginDelete: "CLIENT: begin delete KEY", BeginChange: "CLIENT: begin change ALL", BeginUnlock: "CLIENT: begin unlock",
	Finish: "CLIENT: finish", Retry: "CLIENT: retry", SendWrite: "CLIENT: send write KEY=VALUE",
	PauseClient: "gcsim: pause CLIENT", ResumeClient: "gcsim: resume CLIENT", KillClient: "gcsim: kill CLIENT", RestartClient: "gcsim: restart CLIENT",
	CutClient: "gcsim: partition CLIENT from SERVICE", DeafenClient: "gcsim: deafen CLIENT to SERVICE", HealClient: "gcsim: heal CLIENT",
	DelayClient: "gcsim: delay CLIENT to storage", DeliverClient: "gcsim: deliver CLIENT",
	AwaitExpiry: "SERVICE: await expiry of CLIENT", RevokeLease: "gcsim: revoke CLIENT",
	KillTheStorage: "gcsim: kill storage", RestartTheStorage: "gcsim: restart storage",
	SaveService: "gcsim: save SERVICE", RestoreService: "gcsim: restore SERVICE",
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
}

// Text is a step in the language of scenarios. Each write has a value of its own: the count says which of its client's it is.
func (n Names) Text(s Step, count int) string {
	client := n.Clients[s.Client]
	value := fmt.Sprintf("%d-from-%s", count, client)
	all := make([]string, len(n.Keys))
	for i, key := range n.Keys {
		all[i] = key + "=" + value
	}
	return strings.NewReplacer("CLIENT", client, "SERVICE", n.Service, "KEY", n.Keys[s.Key], "VALUE", value, "ALL", strings.Join(all, " ")).Replace(texts[s.Verb])
}
