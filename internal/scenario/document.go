package scenario

// document is a scenario as it is written. The parser and the JSON schema both
// go by the fields' tags.
type document struct {
	Title    word              `yaml:"title" jsonschema:"required,minLength=1,pattern=^\\s*\\S[^\\n]*\\s*$" want:"one line of text" jsonschema_description:"What goes wrong, in one line."`
	Lesson   word              `yaml:"lesson" jsonschema_description:"What happens, and why."`
	Helps    word              `yaml:"helps" jsonschema_description:"What helps against it."`
	Source   word              `yaml:"source" jsonschema_description:"Where the pitfall is documented."`
	World    worldDoc          `yaml:"world" jsonschema_description:"What the clients meet."`
	Together []keySet          `yaml:"together" jsonschema:"minItems=1" jsonschema_description:"Sets of keys that make sense only if one tenure wrote them all."`
	Clients  named[clientDoc]  `yaml:"clients" jsonschema:"required" jsonschema_description:"The lock clients, each a process of its own."`
	Steps    stepList          `yaml:"steps" jsonschema:"required" jsonschema_description:"The story. Each step waits for what it names; then comes the next."`
	Variants named[variantDoc] `yaml:"variants" jsonschema:"required" jsonschema_description:"Ways to run the story. Exactly one is the control: the story without the protection."`
}

type worldDoc struct {
	Etcd    etcdDoc    `yaml:"etcd" jsonschema_description:"The lock service."`
	Storage storageDoc `yaml:"storage" jsonschema_description:"What the lock is to protect."`
	Pauses  whole      `yaml:"pauses" jsonschema:"default=0,minimum=0" jsonschema_description:"How often a count is disturbed: a holder chosen at random is stopped between its look and its write, until a successor has written. Fewer than there are clients."`
}

type etcdDoc struct {
	Members whole `yaml:"members" jsonschema:"default=1,enum=1,enum=3,enum=5" jsonschema_description:"How many members it has."`
	Restore word  `yaml:"restore" jsonschema:"default=plain,enum=plain,enum=bumped" jsonschema_description:"How it is restored. plain: revisions go back to the snapshot's. bumped: by etcdutl's --bump-revision and --mark-compacted."`
}

type storageDoc struct {
	Engine  word `yaml:"engine" jsonschema:"default=memory,enum=memory,enum=bolt" jsonschema_description:"memory forgets all with its process; bolt is durable."`
	Fencing word `yaml:"fencing" jsonschema:"default=on,enum=on,enum=off,enum=differs,enum=forgetful" jsonschema_description:"How it checks tokens. differs (wrong): refuses every token that differs from the last. forgetful (wrong): a delete drops the mark. The wrong ones need the engine memory."`
	Bound   word `yaml:"bound" jsonschema:"default=none,enum=none,enum=issuer" jsonschema_description:"Whether it knows which tokens cannot have been given out yet. issuer: it asks etcd for its current revision."`
}

type clientDoc struct {
	Lock     word `yaml:"lock" jsonschema:"required,pattern=^[^\\s\\x00-\\x1f\\x7f]+$" want:"a name without spaces, like /lock" jsonschema_description:"The lock's name."`
	TTL      span `yaml:"ttl" jsonschema:"default=1s,pattern=^[1-9][0-9]*(s|m)$" want:"a duration in whole seconds, like 1s" jsonschema_description:"Of its lease, in whole seconds from 1."`
	Timeout  span `yaml:"timeout" jsonschema:"default=5s,pattern=^[1-9][0-9]*(ms|s|m)$" jsonschema_description:"Of a request to the storage or to etcd."`
	Token    word `yaml:"token" jsonschema:"default=revision,enum=revision,enum=header,enum=lease,enum=max" jsonschema_description:"What it shows to the storage. revision: the create revision of its lock key. header: the revision at which etcd answered that the lock is its. lease: its lease ID, which is not ordered. max: 2^63-1, with or without a lock."`
	Scope    word `yaml:"scope" jsonschema:"default=lock,enum=lock,enum=key" jsonschema_description:"What its token is compared in. lock: one mark for all keys that the lock guards. key: each key has a mark of its own."`
	Member   word `yaml:"member" jsonschema:"default=any,enum=any,enum=highest,enum=lowest,enum=leader,enum=follower" jsonschema_description:"Which of etcd's members it talks to. highest, lowest: the one whose leases have the highest, the lowest IDs. leader: the one that leads when the story begins. follower: one that does not."`
	Session  word `yaml:"session" jsonschema:"default=own,pattern=^[a-z][a-z0-9-]*$" want:"own, kept or the name of a client" jsonschema_description:"The lease that its locks stand on. own: each tenure has one of its own. kept: one for all its tenures. Or the name of the client whose session it shares."`
	Look     word `yaml:"look" jsonschema:"default=begin,enum=begin,enum=nothing,enum=session,enum=is-owner,enum=first" jsonschema_description:"How it looks whether it holds the lock before it writes. begin: at its session where it begins a write, else not at all. nothing: never. session: it asks its session, which may not know yet. is-owner: it asks etcd by Mutex.IsOwner whether its key is there. first: it asks etcd whether its key is the first in the queue."`
	Reads    word `yaml:"reads" jsonschema:"default=fenced,enum=fenced,enum=plain" jsonschema_description:"Whether its reads show its token, and so raise the mark."`
	Numbered flag `yaml:"numbered" jsonschema:"default=false" jsonschema_description:"Whether its writes carry sequence numbers."`
	Change   word `yaml:"change" jsonschema:"default=batch,enum=batch,enum=singly" jsonschema_description:"How it changes several keys. batch: in one request, all or nothing. singly: one after the other."`
	Delay    span `yaml:"delay" jsonschema:"default=0s,pattern=^(0|[1-9][0-9]*)(ms|s|m)$" jsonschema_description:"For how long it waits after each grant before it goes on (a lock-delay)."`
}

type variantDoc struct {
	About   word      `yaml:"about" jsonschema_description:"What sets the variant apart, in words."`
	Control flag      `yaml:"control" jsonschema:"default=false" jsonschema_description:"It is the control: it fails in the way that the scenario teaches."`
	Set     changes   `yaml:"set" jsonschema_description:"What is different from the scenario's world and clients, by path; clients.* is all of them. Later ones win."`
	Steps   stepList  `yaml:"steps" jsonschema_description:"The story, where it is not the scenario's."`
	Expect  expectDoc `yaml:"expect" jsonschema:"required" jsonschema_description:"What must come of it. What is left out is not looked at."`
}

type expectDoc struct {
	Verdict   word  `yaml:"verdict" jsonschema:"required,enum=safe,enum=corrupted,enum=blocked" jsonschema_description:"safe, corrupted (a write of an earlier tenure was applied after a later one began its work, or an acknowledged write is lost) or blocked (the rightful holder was refused, or a free lock was not granted)."`
	Stale     whole `yaml:"stale" jsonschema:"minimum=0" jsonschema_description:"How many requests the storage refused as stale."`
	Refused   whole `yaml:"refused" jsonschema:"minimum=0" jsonschema_description:"How many requests the storage refused, for whatever reason."`
	Ordered   flag  `yaml:"ordered" jsonschema_description:"Whether tokens grew in the order of grants."`
	Exclusive flag  `yaml:"exclusive" jsonschema_description:"Whether no tenure began before the one before it was over, by the lock service's account."`
	Fenced    flag  `yaml:"fenced" jsonschema_description:"Whether the storage did what a fenced storage does, by its own history."`
	Final     final `yaml:"final" jsonschema_description:"What keys hold at the end."`
}

// These are types of their own because the schema says something of its own
// about each.
type (
	keySet   []word
	stepList []stepDoc
	stepDoc  struct{ named[word] }
	changes  struct{ named[anything] }
	final    struct{ named[plain] }
)

func (d worldDoc) world() World {
	return World{
		Etcd:    Etcd{Members: d.Etcd.Members.number, Restore: d.Etcd.Restore.text},
		Storage: Storage{Engine: d.Storage.Engine.text, Fencing: d.Storage.Fencing.text, Bound: d.Storage.Bound.text},
		Pauses:  d.Pauses.number,
	}
}

func (d clientDoc) client() Client {
	return Client{
		Lock: d.Lock.text, TTL: d.TTL.long, Timeout: d.Timeout.long, Token: d.Token.text, Scope: d.Scope.text,
		Member: d.Member.text, Session: d.Session.text, Look: d.Look.text, Reads: d.Reads.text,
		Numbered: d.Numbered.yes, Change: d.Change.text, Delay: d.Delay.long,
	}
}
