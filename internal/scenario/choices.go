package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
	{Name: "fencing", Default: FencingOn, Of: []string{FencingOn, FencingOff, FencingObserve, FencingDiffers, FencingForgetful}, About: "How it checks tokens. observe: what would be refused is done all the same, and told. differs (wrong): refuses every token that differs from the last. forgetful (wrong): a delete drops the mark. These three need the engine memory."},
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

// settings are what a scenario, or a variant of it, chooses of its world and its clients.
type settings struct {
	service *Service
	names   []string // of the clients, in their order
	own     choices  // the world's own
	servers choices
	storage choices
	clients map[string]choices
}

// settings reads the world and the clients. Which lock service it is, the world says.
func (d *document) settings(l *Language) (*settings, error) {
	s := &settings{service: &l.Services[0], own: defaults(pausesSettings), storage: defaults(storageSettings), clients: make(map[string]choices)}
	world := make(map[string]*strictyaml.Node)
	if d.World.node != nil {
		pairs, err := entriesOf(d.World.node, slices.Concat(l.serviceNames(), []string{storageName, pausesName}))
		if err != nil {
			return nil, err
		}
		world = maps.Collect(pairs)
	}
	if err := s.chooseService(l, world); err != nil {
		return nil, err
	}
	s.servers = defaults(s.service.World)
	for name, group := range map[string]choices{storageName: s.storage, s.service.Name: s.servers} {
		if node, given := world[name]; given {
			if err := group.read(node); err != nil {
				return nil, err
			}
		}
	}
	if node, given := world[pausesName]; given {
		if err := s.own.choose(pausesName, node); err != nil {
			return nil, err
		}
	}
	for _, e := range d.Clients.entries {
		c := defaults(s.service.clientSettings())
		if err := c.read(e.value.node); err != nil {
			return nil, err
		}
		s.names = append(s.names, e.key.text)
		s.clients[e.key.text] = c
	}
	return s, nil
}

func (s *settings) chooseService(l *Language, world map[string]*strictyaml.Node) error {
	var first string
	for _, name := range l.serviceNames() {
		node, given := world[name]
		switch {
		case given && first != "":
			return errorAt(node, "the world has %s and %s: a scenario has one lock service", first, name)
		case given:
			first, s.service = name, l.service(name)
		}
	}
	return nil
}

func (s *settings) clone() *settings {
	c := *s
	c.own, c.servers, c.storage = s.own.clone(), s.servers.clone(), s.storage.clone()
	c.clients = make(map[string]choices)
	for name, client := range s.clients {
		c.clients[name] = client.clone()
	}
	return &c
}

// change sets one thing, by its path: storage.fencing, clients.NAME.token or clients.*.token.
func (s *settings) change(path word, value *strictyaml.Node) error {
	last := strings.LastIndexByte(path.text, '.') + 1
	group, name := path.text[:last], path.text[last:]
	targets := map[string][]choices{
		s.service.Name + ".": {s.servers}, storageName + ".": {s.storage}, "": {s.own},
		"clients.*.": slices.Collect(maps.Values(s.clients)),
	}[group]
	if client, _ := strings.CutPrefix(group, "clients."); targets == nil && client != group && client != "" {
		client = strings.TrimSuffix(client, ".")
		c, known := s.clients[client]
		if !known {
			return errorAt(path.node, "unknown client %q%s", client, Hint(client, append(slices.Clone(s.names), "*")))
		}
		targets = []choices{c}
	}
	if len(targets) == 0 || !slices.Contains(targets[0].names(), name) {
		return s.unknownPath(path)
	}
	if setting, _ := setting.Find(targets[0].list, name); setting.Required {
		return errorAt(path.node, "cannot set %q: it is part of the story", path.text)
	}
	for _, c := range targets {
		if err := c.choose(name, value); err != nil {
			return err
		}
	}
	return nil
}

func (s *settings) unknownPath(path word) error {
	client := "CLIENT"
	if parts := strings.Split(path.text, "."); len(parts) > 1 && parts[0] == "clients" {
		client = parts[1]
	}
	var known []string
	for _, group := range append(s.service.worldGroups(), settingGroup{"clients." + client + ".", s.service.clientSettings()}) {
		for _, name := range changeable(group.list) {
			known = append(known, group.prefix+name)
		}
	}
	return errorAt(path.node, "cannot set %q%s", path.text, Hint(path.text, known))
}

type settingGroup struct {
	prefix string
	list   []setting.Setting
}

func (s *Service) worldGroups() []settingGroup {
	return []settingGroup{{s.Name + ".", s.World}, {storageName + ".", storageSettings}, {"", pausesSettings}}
}

func (s *settings) world() World {
	return World{
		Service: s.service.Name, Settings: s.servers.Values,
		Storage: Storage{In: s.storage.Text("in"), Engine: s.storage.Text("engine"), Fencing: s.storage.Text("fencing"), Bound: s.storage.Text("bound"), Command: s.command()},
		Pauses:  s.own.Number(pausesName),
	}
}

// command runs the storage; "" where it is gcsim's own.
func (s *settings) command() string {
	if command := s.storage.Text("command"); command != noCommand {
		return command
	}
	return ""
}

func (s *settings) asClients() map[string]Client {
	all := make(map[string]Client)
	for name, c := range s.clients {
		all[name] = Client{Lock: c.Text(lockName), Command: c.command(), Values: c.Values}
	}
	return all
}

func (c choices) command() Command {
	if !c.given(commandName) {
		return Command{}
	}
	at := errorAt(c.nodes[commandName], "")
	return Command{Words: c.Words(commandName), Line: at.Line, Column: at.Column}
}

func (s *settings) check() error {
	var locks []string
	for _, name := range s.names {
		c := s.clients[name]
		lock := c.Text(lockName)
		if wrong := s.service.clash(lock, locks); wrong != "" {
			return errorAt(c.nodes[lockName], "%s", wrong)
		}
		locks = append(locks, lock)
	}
	if s.service.Check != nil {
		if c := s.service.Check(s.world(), s.asClients()); c != nil {
			return s.conflict(c)
		}
	}
	if s.storage.Text("in") == InService {
		if err := s.checkInService(); err != nil {
			return err
		}
	}
	given := slices.DeleteFunc([]string{"engine", "fencing", "bound"}, func(name string) bool { return !s.storage.given(name) })
	if s.command() != "" && len(given) > 0 {
		return errorAt(s.storage.nodes[given[0]], "a storage of your own has no such setting: leave out %s", strings.Join(given, " and "))
	}
	storage := s.storage
	fencing := storage.Text("fencing")
	inMemory := slices.Contains([]string{FencingObserve, FencingDiffers, FencingForgetful}, fencing)
	if inMemory && storage.Text("engine") != EngineMemory {
		return errorAt(storage.nodes["fencing"], "fencing %q is a check that only the engine memory has, and the engine is %s", fencing, storage.Text("engine"))
	}
	if storage.Text("bound") == BoundIssuer && !s.service.Issuer {
		return errorAt(storage.nodes["bound"], "the storage cannot ask %s for the last token that was given out: want \"bound: none\"", s.service.Name)
	}
	if pauses := s.own.Number(pausesName); pauses > 0 && pauses >= len(s.names) {
		return errorAt(s.own.nodes[pausesName], "\"pauses\" cannot be %d with %d clients: want fewer pauses than clients", pauses, len(s.names))
	}
	return nil
}

// checkInService finds what a lock service that is the storage, too, does not have.
func (s *settings) checkInService() error {
	if s.service.Compares == nil {
		return errorAt(s.storage.nodes["in"], "no data can lie in %s: want \"in: process\"", s.service.Name)
	}
	for _, name := range []string{"engine", "fencing", "bound", "command"} {
		if s.storage.given(name) {
			return errorAt(s.storage.nodes[name], "the data lies in %s, and there is no storage that has a setting %q: leave it out", s.service.Name, name)
		}
	}
	for _, client := range s.names {
		for _, name := range []string{setting.Scope, setting.Numbered} {
			if c := s.clients[client]; c.given(name) {
				return errorAt(c.nodes[name], "the data lies in %s, which has no marks: leave %q out", s.service.Name, name)
			}
		}
	}
	return nil
}

func (s *settings) conflict(c *Conflict) error {
	group := s.servers
	if c.Client != "" {
		group = s.clients[c.Client]
	}
	if node := group.nodes[c.Setting]; node != nil {
		return errorAt(node, "%s", c.Text)
	}
	return fmt.Errorf("%s: %s", c.Setting, c.Text)
}
