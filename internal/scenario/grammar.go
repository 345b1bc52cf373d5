package scenario

import (
	"regexp"
	"slices"
	"strings"
)

// form is one way to write a step. The parser and the JSON schema both go by
// its usage, where words in capitals stand for what the writer chooses.
type form struct {
	usage   string
	verb    Verb
	about   string // what happens, in words
	target  string // whom it is about, if that is no client
	service string // the other end of a cut or a delay
}

// forms are all there are, by the step's actor; those of a client are under "".
var forms = map[string][]form{
	"": {
		{usage: "lock", verb: Lock, about: "It waits for the lock, also for one that it queued for."},
		{usage: "trylock", verb: TryLock, about: "It takes the lock if that is free."},
		{usage: "queue", verb: Queue, about: "It asks for the lock; over when it stands in the queue."},
		{usage: "unlock", verb: Unlock, about: "It releases the lock."},
		{usage: "read KEY", verb: Read, about: "It reads from the storage."},
		{usage: "write KEY=VALUE", verb: Write, about: "It writes to the storage, and shows its token: that of a lock which it has lost, too."},
		{usage: "delete KEY", verb: Delete, about: "It deletes a key of the storage."},
		{usage: "change KEY=VALUE KEY=VALUE …", verb: Change, about: "It changes several keys, as its setting \"change\" says."},
		{usage: "begin write KEY=VALUE", verb: Begin, about: "It looks whether it holds the lock, and stands right before the write."},
		{usage: "begin change KEY=VALUE KEY=VALUE …", verb: Begin, about: "It looks whether it holds the lock, and stands before the change, or in the middle of it if it changes singly."},
		{usage: "finish", verb: Finish, about: "It does the rest of what it began, without looking again."},
		{usage: "retry", verb: Retry, about: "It does once more the last write, change, delete or unlock of unknown outcome."},
		{usage: "await loss", verb: AwaitLoss, about: "It is told that its tenure is over."},
		{usage: "send write KEY=VALUE", verb: Write, about: "As write, but the step does not wait for the answer."},
		{usage: "send change KEY=VALUE KEY=VALUE …", verb: Change, about: "As change, but the step does not wait for the answer."},
		{usage: "send delete KEY", verb: Delete, about: "As delete, but the step does not wait for the answer."},
		{usage: "send finish", verb: Finish, about: "As finish, but the step does not wait for the answer. A client that stands still hears it when it goes on."},
		{usage: "send retry", verb: Retry, about: "As retry, but the step does not wait for the answer."},
	},
	ActorClients: {
		{usage: "count KEY TIMES", verb: Count, target: ActorClients, about: "All clients at once: each increments the key so many times, with a lock, a read, a write and an unlock each time."},
	},
	ActorLab: {
		{usage: "pause leader", verb: Pause, target: TargetLeader, about: "Stops etcd's leader, until \"resume leader\"."},
		{usage: "pause CLIENT for TIME", verb: Pause, about: "Stops the client for so long."},
		{usage: "pause CLIENT", verb: Pause, about: "Stops the client (SIGSTOP), until \"resume CLIENT\"."},
		{usage: "resume leader", verb: Resume, target: TargetLeader, about: "Lets etcd's old leader go on."},
		{usage: "resume CLIENT", verb: Resume, about: "Lets the client go on (SIGCONT)."},
		{usage: "kill storage", verb: Kill, target: TargetStorage, about: "Kills the storage (SIGKILL)."},
		{usage: "kill CLIENT", verb: Kill, about: "Kills the client (SIGKILL); the TTL frees its lock."},
		{usage: "restart storage", verb: Restart, target: TargetStorage, about: "Starts the killed storage again."},
		{usage: "load CLIENT", verb: Load, about: "The client fills its heap until one collection outlasts its lease."},
		{usage: "gc CLIENT", verb: GC, about: "A garbage collection that stops all of the client begins."},
		{usage: "await CLIENT", verb: Await, about: "The collection, or the pause for a time, is over, and so is what the client was told to do meanwhile."},
		{usage: "partition CLIENT from etcd", verb: Partition, service: TargetEtcd, about: "Nothing passes between them, either way."},
		{usage: "deafen CLIENT to etcd", verb: Deafen, service: TargetEtcd, about: "What the client sends arrives, the answers do not."},
		{usage: "deafen CLIENT to storage", verb: Deafen, service: TargetStorage, about: "What the client sends arrives, the answers do not."},
		{usage: "delay CLIENT to storage", verb: Delay, service: TargetStorage, about: "What the client sends by \"send …\" waits in the network."},
		{usage: "deliver CLIENT", verb: Deliver, about: "What waited goes on, in the order in which it was sent; over when the storage has done or refused it."},
		{usage: "reset CLIENT", verb: Reset, about: "The connections by which it sends to the storage break, and answers under way are lost. New ones work."},
		{usage: "heal CLIENT", verb: Heal, about: "Ends partition and deafen."},
		{usage: "revoke CLIENT", verb: Revoke, about: "Ends the client's lease, as an operator could."},
		{usage: "save etcd", verb: Save, target: TargetEtcd, about: "Takes a snapshot of etcd."},
		{usage: "restore etcd", verb: Restore, target: TargetEtcd, about: "Starts etcd again from that snapshot."},
	},
	ActorEtcd: {
		{usage: "await expiry of CLIENT", verb: AwaitExpiry, about: "The client's lease has run out."},
	},
}

// actors are those that have forms of their own.
var actors = []string{ActorClients, ActorLab, ActorEtcd}

// How the words in capitals are written. No line of text has control characters:
// clients are told by lines.
const (
	keyPattern   = `[^\s=\x00-\x1f\x7f]+`
	pairsPattern = keyPattern + `=[^\s\x00-\x1f\x7f]*`
)

var inWords = strings.NewReplacer(
	"KEY=VALUE KEY=VALUE …", "(?<changes>"+pairsPattern+"(?: "+pairsPattern+")+)",
	"KEY=VALUE", "(?<key>"+keyPattern+`)=(?<value>[^\x00-\x1f\x7f]*)`,
	"KEY", "(?<key>"+keyPattern+")",
	"CLIENT", `(?<client>\S+)`,
	"TIMES", "(?<times>[1-9][0-9]{0,2}|1000)", // a run keeps all that happens in memory
	"TIME", "(?<time>[1-9][0-9]*(?:ms|s|m))",
)

// pattern is a regular expression of all texts of the form. Its groups are named
// after what they hold.
func (f form) pattern() string { return "^" + inWords.Replace(f.usage) + "$" }

// match returns what the named groups of the form's pattern hold in a text.
func (f form) match(text string) (map[string]string, bool) {
	re := regexp.MustCompile(f.pattern())
	found := re.FindStringSubmatch(text)
	if found == nil {
		return nil, false
	}
	groups := make(map[string]string)
	for i, name := range re.SubexpNames() {
		groups[name] = found[i]
	}
	return groups, true
}

// sent reports whether the step does not wait for the answer.
func (f form) sent() bool { return strings.HasPrefix(f.usage, "send ") }

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

// firstWords are those of an actor's forms.
func firstWords(list []form) []string {
	var words []string
	for _, f := range list {
		if word := firstWord(f.usage); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}
