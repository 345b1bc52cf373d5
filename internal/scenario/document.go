package scenario

// document is a scenario as it is written. The parser and the JSON schema both go by the fields' tags.
type document struct {
	Title    word              `yaml:"title" jsonschema:"required,minLength=1,pattern=^\\s*\\S[^\\n]*\\s*$" want:"one line of text" jsonschema_description:"What goes wrong, in one line."`
	Lesson   word              `yaml:"lesson" jsonschema_description:"What happens, and why."`
	Helps    word              `yaml:"helps" jsonschema_description:"What helps against it."`
	Source   word              `yaml:"source" jsonschema_description:"Where the pitfall is documented."`
	World    anything          `yaml:"world" jsonschema_description:"What the clients meet."`
	Together []keySet          `yaml:"together" jsonschema:"minItems=1" jsonschema_description:"Sets of keys that make sense only if one tenure wrote them all."`
	Clients  named[anything]   `yaml:"clients" jsonschema:"required" jsonschema_description:"The lock clients, each a process of its own."`
	Steps    stepList          `yaml:"steps" jsonschema:"required" jsonschema_description:"The story. Each step waits for what it names; then comes the next."`
	Variants named[variantDoc] `yaml:"variants" jsonschema:"required" jsonschema_description:"Ways to run the story. One can be the control: the story without the protection."`

	grammar *grammar
}

type variantDoc struct {
	About   word            `yaml:"about" jsonschema_description:"What sets the variant apart, in words."`
	Control flag            `yaml:"control" jsonschema:"default=false" jsonschema_description:"It is the control: it fails in the way that the scenario teaches."`
	Set     named[anything] `yaml:"set" jsonschema_description:"What is different from the scenario's world and clients, by path; clients.* is all of them. Later ones win."`
	Steps   stepList        `yaml:"steps" jsonschema_description:"The story, where it is not the scenario's."`
	Expect  expectDoc       `yaml:"expect" jsonschema:"required" jsonschema_description:"What must come of it. What is left out is not looked at."`
}

type expectDoc struct {
	Verdict   word     `yaml:"verdict" jsonschema:"required,enum=safe,enum=corrupted,enum=blocked" jsonschema_description:"safe, corrupted (a write of an earlier tenure was applied after a later one began its work, or an acknowledged write is lost) or blocked (the rightful holder was refused, a free lock was not granted, or a lock was held too long after nobody could renew it)."`
	Stale     whole    `yaml:"stale" jsonschema:"minimum=0" jsonschema_description:"How many requests the storage refused as stale."`
	Refused   whole    `yaml:"refused" jsonschema:"minimum=0" jsonschema_description:"How many requests the storage refused, for whatever reason."`
	Ordered   flag     `yaml:"ordered" jsonschema_description:"Whether tokens grew in the order of grants."`
	Exclusive flag     `yaml:"exclusive" jsonschema_description:"Whether no tenure began before the one before it was over, by the lock service's account."`
	Fair      flag     `yaml:"fair" jsonschema_description:"Whether the lock service granted in the order of requests, by its own account of the queue."`
	Fenced    flag     `yaml:"fenced" jsonschema_description:"Whether the storage did what a fenced storage does, by its own history."`
	Final     final    `yaml:"final" jsonschema_description:"What keys hold at the end."`
	Missing   []word   `yaml:"missing" jsonschema:"minItems=1" jsonschema_description:"Keys that have no value at the end."`
	Steps     outcomes `yaml:"steps" jsonschema_description:"What becomes of steps, by their names."`
}

// These are types of their own because the schema says something of its own about each.
type (
	keySet   []word
	stepList []stepDoc
	stepDoc  struct {
		named[word]
		name word
	}
	final    struct{ named[plain] }
	outcomes struct{ named[word] }
)
