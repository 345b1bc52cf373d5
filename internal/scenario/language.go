package scenario

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Language is what scenarios can say: lock services and steps. The grammar is this package's.
type Language struct {
	Services []Service // the first is that of a scenario that names none
	Forms    []*Form   // of steps, whatever the lock service is
}

// Service is a lock service, in the words of scenarios.
type Service struct {
	Name   string            // of its actor, of its settings below world, and of its lane in a history
	About  string            // in one sentence
	World  []setting.Setting // of its servers
	Client []setting.Setting // of its clients, beside setting.Client
	Forms  []*Form           // steps that no other service has
	Words  []string          // that no client can be called by, beside Name
	Nodes  string            // a regular expression of its nodes' names, the word NODE in a Form
	Issuer bool              // the storage can ask it for the last token that was given out
	// Unqueued says that its account has no history.KindQueued: whether it is fair cannot be judged.
	Unqueued bool
	Halfway  bool // its clients can stand in the middle of taking a lock
	Leases   bool // the TTL of its clients says how long each lease lasts
	Renews   bool // its clients, but for the user's, keep their leases as long as they run and reach it
	Local    bool // its clients reach it without a network: no step cuts that
	// Compares reports whether writes to the service itself compare anything. nil: no data lies there.
	Compares func(client Client) bool
	// Check finds settings that do not go together; nil: all do.
	Check func(world World, clients map[string]Client) *Conflict
	// Clash says why two locks cannot have these names; "": they can. nil: any two can.
	Clash func(lock, other string) string
	// Own says why a variant needs servers of its own, each reason as in "wants 3 members". nil: none.
	Own func(world setting.Values, clients map[string]Client) []string
}

// Conflict is a setting that does not go with others.
type Conflict struct {
	Client  string // whose setting it is; "" of the world
	Setting string
	Text    string // what is wrong, and what to do
}

// Form is one way to write a step.
type Form struct {
	Actor string // who does it: ActorLab, ActorClients, TheService, or "" for a client
	// Usage is how it is written. Words in capitals stand for what the writer chooses, words in brackets
	// can be left out; SERVICE is the name of the lock service.
	Usage string
	About string // what happens, in sentences
	// Target is whom it is about, if no client: TargetStorage, TheService, or the service's own word.
	Target string
	Other  string // the other end of a network that the step is about: TheService or TargetStorage
	Dead   bool   // it can be about a client that was killed
	Own    string // why it needs servers of its own, as in "stops the leader"; "": it does not
	// Check says what keeps the step from happening in the story, "": nothing, and notes what comes of it.
	// c is the client that the step is about; nil: it is about none.
	Check func(s *Story, c *ClientStory, step Step) string

	id      string         // of one in the words of a service
	nodes   string         // of the service
	matcher *regexp.Regexp // of its pattern; nil before the first match
}

// ID tells the form from all others, in the words of each service: the actor, and what every step has.
func (f *Form) ID() string {
	return cmp.Or(f.id, cmp.Or(f.Actor, "client")+": "+leftOut.ReplaceAllString(f.Usage, ""))
}

// leftOut is what can be left out of a step.
var leftOut = regexp.MustCompile(` \[[^]]*\]`)

// Verb is what its steps do: the first word, but for "send".
func (f *Form) Verb() Verb { return Verb(firstWord(strings.TrimPrefix(f.Usage, "send "))) }

// noLock are words that mean something else where a lock's name can stand.
var noLock = []string{"within", "in"}

// Service is the service of that name, or the first.
func (l *Language) service(name string) *Service {
	i := slices.IndexFunc(l.Services, func(s Service) bool { return s.Name == name })
	return &l.Services[max(i, 0)]
}

func (s *Service) clash(lock string, others []string) string {
	if s.Clash == nil {
		return ""
	}
	for _, other := range others {
		if wrong := s.Clash(lock, other); wrong != "" {
			return wrong
		}
	}
	return ""
}

func (l *Language) serviceNames() (names []string) {
	for _, s := range l.Services {
		names = append(names, s.Name)
	}
	return names
}

// forms are those of a service's scenarios, by actor; a client's are under "". The service's own come first: it
// can call a leader what else would be a client.
func (l *Language) forms(s *Service) map[string][]*Form {
	all := make(map[string][]*Form)
	for _, f := range slices.Concat(s.Forms, l.Forms) {
		if !s.lacks(f) {
			named := f.of(s)
			all[named.Actor] = append(all[named.Actor], named)
		}
	}
	return all
}

// of is the form in a service's scenarios.
func (f *Form) of(s *Service) *Form {
	named := *f
	named.id, named.nodes = f.ID(), s.Nodes
	named.Usage = strings.ReplaceAll(f.Usage, "SERVICE", s.Name)
	for _, name := range []*string{&named.Actor, &named.Target, &named.Other} {
		*name = strings.ReplaceAll(*name, TheService, s.Name)
	}
	return &named
}

// lacks reports whether a form is about a network to the service, which has none.
func (s *Service) lacks(f *Form) bool { return s.Local && f.Other == TheService }

func (l *Language) lacking(s *Service) (list []*Form) {
	for _, f := range l.Forms {
		if s.lacks(f) {
			list = append(list, f.of(s))
		}
	}
	return list
}

// actors are those of a service's scenarios that have forms of their own.
func (s *Service) actors() []string { return []string{ActorClients, ActorLab, s.Name} }

// How the words in capitals are written. Clients are told by lines: there are no control characters.
const (
	lockPattern  = `[^\s\x00-\x1f\x7f]+`
	keyPattern   = `[^\s=\x00-\x1f\x7f]+`
	pairsPattern = keyPattern + `=[^\s\x00-\x1f\x7f]*`
)

var inWords = strings.NewReplacer(
	"KEY=VALUE KEY=VALUE …", "(?<changes>"+pairsPattern+"(?: "+pairsPattern+")+)",
	"KEY=VALUE", "(?<key>"+keyPattern+`)=(?<value>[^\x00-\x1f\x7f]*?)`,
	"KEY", "(?<key>"+keyPattern+")",
	"NAME", "(?<lock>"+lockPattern+")",
	"CLIENT", `(?<client>\S+)`,
	"TIMES", "(?<times>[1-9][0-9]{0,2}|1000)", // a run keeps all that happens in memory
	"TIME", "(?<time>[1-9][0-9]*(?:ms|s|m))",
	" [", "(?: ", "]", ")?",
)

// pattern is a regular expression of all texts of the form. Its groups are named after what they hold.
func (f *Form) pattern() string {
	return "^" + strings.ReplaceAll(inWords.Replace(f.Usage), "NODE", "(?<node>"+f.nodes+")") + "$"
}

// match returns what the named groups of the form's pattern hold in a text.
func (f *Form) match(text string) (map[string]string, bool) {
	if f.matcher == nil {
		f.matcher = regexp.MustCompile(f.pattern())
	}
	found := f.matcher.FindStringSubmatch(text)
	if found == nil {
		return nil, false
	}
	groups := make(map[string]string)
	for i, name := range f.matcher.SubexpNames() {
		groups[name] = found[i]
	}
	return groups, true
}

func (f *Form) sent() bool { return strings.HasPrefix(f.Usage, "send ") }

func (f *Form) gives() bool { return strings.Contains(f.Usage, "VALUE") }

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}

func firstWords(list []*Form) (words []string) {
	for _, f := range list {
		if word := firstWord(f.Usage); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return words
}
