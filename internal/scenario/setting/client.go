package setting

// What clients can choose, whatever the lock service is.
const (
	TTL      = "ttl"
	Timeout  = "timeout"
	Scope    = "scope"
	Reads    = "reads"
	Numbered = "numbered"
	Change   = "change"
	Delay    = "delay"
	Ahead    = "ahead" // of a client whose clock is wrong: by how much
)

// Values of those.
const (
	ScopeLock = "lock"
	ScopeKey  = "key" // each key has a mark of its own

	ReadsFenced = "fenced"
	ReadsPlain  = "plain"

	ChangeBatch  = "batch"  // in one request, all or nothing
	ChangeSingly = "singly" // one after the other

	TokenGranted   = "granted"    // its grant's
	TokenNone      = "none"       // none, as of a program that knows nothing of tokens
	TokenMax       = "max"        // 2^63-1, with or without a lock
	TokenReadAgain = "read-again" // what the service has for the lock right before it is shown, as service.TokenReader says

	LookBegin   = "begin" // as LookSession where a client begins a write, else as LookNothing
	LookNothing = "nothing"
	LookSession = "session" // at the client's own session, which may not know yet

	// LookAbout is what all services say of Look; then come the values that each has of its own.
	LookAbout = "How it looks, before it writes, whether it holds the lock. begin: as session, only where it begins a write, a change or a delete. nothing: never. "

	ModeExclusive = "exclusive" // it holds its locks alone
	ModeShared    = "shared"    // together with others that share them

	ClaimsByMode    = "by-mode"   // shared where the tenure is
	ClaimsExclusive = "exclusive" // whatever the tenure is
)

// LookOf is the setting Look of a service that has some values of its own. What it says of them begins with LookSession.
func LookOf(about string, own ...string) Setting {
	return Setting{Name: Look, Default: LookBegin, Of: append([]string{LookBegin, LookNothing, LookSession}, own...), About: LookAbout + about}
}

// What a service's clients may choose, under these names. Token, Look and Claims may have more values.
const (
	Token   = "token"
	Session = "session"
	Look    = "look"
	Mode    = "mode"
	Claims  = "claims"
	Unlock  = "unlock"
)

var Client = []Setting{
	{Name: TTL, Kind: Time, Default: "1s", Pattern: `^[1-9][0-9]*(s|m)$`, Want: "a duration in whole seconds, like 1s", About: "Of its lease, in whole seconds from 1."},
	{Name: Timeout, Kind: Time, Default: "5s", Pattern: `^[1-9][0-9]*(ms|s|m)$`, About: "Of a request to the storage or to the lock service."},
	{Name: Scope, Default: ScopeLock, Of: []string{ScopeLock, ScopeKey}, About: "What its token is compared in. lock: one mark for all keys that the lock guards. key: each key has a mark of its own."},
	{Name: Reads, Default: ReadsFenced, Of: []string{ReadsFenced, ReadsPlain}, About: "Whether its reads show its token, and so raise the mark."},
	{Name: Numbered, Kind: Flag, Default: "false", About: "Whether its writes carry sequence numbers."},
	{Name: Change, Default: ChangeBatch, Of: []string{ChangeBatch, ChangeSingly}, About: "How it changes several keys. batch: in one request, all or nothing. singly: one after the other."},
	{Name: Delay, Kind: Time, Default: "0s", Pattern: `^(0|[1-9][0-9]*)(ms|s|m)$`, About: "For how long it waits after each grant before it goes on (a lock-delay)."},
}
