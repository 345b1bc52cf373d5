package scenario

import (
	"maps"
	"slices"

	"github.com/fencelab/fencelab/internal/platform/strictyaml"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Names of settings that no service has.
const (
	storageName = "storage" // of the storage's, below world
	lockName    = "lock"
	commandName = "command"
	pausesName  = "pauses"
)

// noCommand stands for the storage that is gcsim's own.
const noCommand = "none"

// pausesSettings are the world's own.
var pausesSettings = []setting.Setting{
	{Name: pausesName, Kind: setting.Number, Default: "0", About: "How often a count is disturbed: a holder chosen at random is stopped between its look and its write, until a successor has written, or nobody else is left to. Fewer than there are clients."},
}

var storageSettings = []setting.Setting{
	{Name: "in", Default: InProcess, Of: []string{InProcess, InService}, About: "Where the data lies. process: in a storage of its own, of which the settings below are. service: in the lock service, beside the locks; the recipe of a lock says what is compared."},
	{Name: "engine", Default: EngineMemory, Of: []string{EngineMemory, EngineBolt}, About: "memory forgets all with its process; bolt is durable."},
	{Name: "fencing", Default: FencingOn, Of: []string{FencingOn, FencingOff, FencingDiffers, FencingForgetful}, About: "How it checks tokens. differs (wrong): refuses every token that differs from the last. forgetful (wrong): a delete drops the mark. The wrong ones need the engine memory."},
	{Name: "bound", Default: BoundNone, Of: []string{BoundNone, BoundIssuer}, About: "Whether it knows which tokens cannot have been given out yet. issuer: it asks the lock service for the last that was."},
	{Name: "command", Default: noCommand, Pattern: `^(none|.*\{(addr|port)\}.*)$`, Want: "a line for sh with {addr} or {port}, like \"python3 storage.py --listen {addr} --dir {dir}\"", About: "A storage of your own: a line for sh that runs it, in which {addr} is the address to listen on, {port} its port, and {dir} the directory for its files. It has none of the settings above. none: gcsim's own."},
}

// StorageSettings are those of what the lock is to protect.
func StorageSettings() []setting.Setting { return slices.Clone(storageSettings) }

func (s *Service) clientSettings() []setting.Setting {
	lock := setting.Setting{Name: lockName, Required: true, Pattern: "^" + lockPattern + "$", Want: "a name without spaces, like /lock", About: "The lock that it takes where a step names none."}
	command := setting.Setting{Name: commandName, Kind: setting.Words, About: "A program of your own that is the client, and its arguments; gcsim adds others. It speaks the protocol of docs/agent.md. Without it the client is gcsim's own."}
	return slices.Concat([]setting.Setting{lock, command}, setting.Client, s.Client)
}

// choices are the values of some settings, and where the file has them.
type choices struct {
	list []setting.Setting
	setting.Values
	nodes map[string]*strictyaml.Node
}

func defaults(list []setting.Setting) choices {
	return choices{list, setting.Defaults(list), make(map[string]*strictyaml.Node)}
}

func (c choices) clone() choices { return choices{c.list, maps.Clone(c.Values), maps.Clone(c.nodes)} }

func (c choices) names() (names []string) {
	for _, s := range c.list {
		names = append(names, s.Name)
	}
	return names
}

func (c choices) read(n *strictyaml.Node) error {
	pairs, err := entriesOf(n, c.names())
	if err != nil {
		return err
	}
	for name, value := range pairs {
		if err := c.choose(name, value); err != nil {
			return err
		}
	}
	for _, s := range c.list {
		if s.Required && !c.given(s.Name) {
			return errorAt(n, "%q is missing", s.Name)
		}
	}
	return nil
}

func (c choices) choose(name string, value *strictyaml.Node) error {
	s, _ := setting.Find(c.list, name)
	chosen, err := readLeaf(value, s)
	c.Values[name], c.nodes[name] = chosen.text, value
	return err
}

func (c choices) given(name string) bool { return c.nodes[name] != nil }

// changeable are the names of those that a variant can change.
func changeable(list []setting.Setting) (names []string) {
	for _, s := range list {
		if !s.Required {
			names = append(names, s.Name)
		}
	}
	return names
}
