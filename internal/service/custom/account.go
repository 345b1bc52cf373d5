// Package custom is a lock service that the user brings: a command, which says as lines on
// its standard output what begins and ends. docs/your-lock-service.md describes it.
package custom

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// Word is what a line says.
type Word struct {
	At     time.Duration `json:"at"` // since 1970
	Kind   history.Kind  `json:"kind"`
	Scope  string        `json:"scope"`
	Tenure string        `json:"tenure"`
	Token  fence.Token   `json:"token,string"`
	Mode   fence.Mode    `json:"mode"`
	Cause  string        `json:"cause"`
	Text   string        `json:"text"`
}

// Account is what a command has said of tenures. It refuses what contradicts itself.
type Account struct {
	began time.Time
	said  history.Said
	last  map[string]Word // tenure → what was said of it
}

func NewAccount(began time.Time) *Account {
	return &Account{began: began, last: make(map[string]Word)}
}

// Line takes in the next line.
func (a *Account) Line(line []byte) (w Word, err error) {
	if err := a.said.Line(line); err != nil {
		return w, err
	}
	if w, err = parse(line); err != nil {
		return w, err
	}
	if err := a.said.Time(w.At, a.began); err != nil {
		return w, err
	}
	return w, a.take(w)
}

// event is what a word tells, as service.Stage.Tell takes it.
func (w Word) event() history.Event {
	e := history.Event{At: w.At, Lane: name, Kind: w.Kind, Scope: w.Scope, Tenure: w.Tenure, Token: w.Token, Mode: w.Mode}
	// The run knows whether the tenure's own client let go of it. If another did, that is
	// as good as a revocation.
	switch w.Cause {
	case history.CauseReleased:
		e.Cause, e.Text = history.CauseRevoked, "released, and not by its own client"
	case history.CauseRevoked:
		e.Cause, e.Text = history.CauseRevoked, w.Text
	}
	return e
}

// parse reads a line, and refuses one whose fields do not go together.
func parse(line []byte) (w Word, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return w, fmt.Errorf("want a JSON line as %s describes: %w", page, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return w, errors.New("want one JSON object in a line")
	}
	switch {
	case w.Kind != history.KindGranted && w.Kind != history.KindEnded:
		return w, fmt.Errorf("its kind is %q, want %q or %q", w.Kind, history.KindGranted, history.KindEnded)
	case w.Scope == "" || w.Tenure == "":
		return w, errors.New("want a scope, which is the lock's name, and a tenure")
	case w.Token < 0:
		return w, fmt.Errorf("its token is %d, want a number from 1, or none", w.Token)
	case w.Kind == history.KindGranted && (w.Cause != "" || w.Text != ""):
		return w, errors.New("a grant has no cause and no text")
	case w.Kind == history.KindEnded && (w.Token != 0 || w.Mode != fence.Exclusive):
		return w, errors.New("an end has no token and no mode: those are the grant's")
	case w.Kind == history.KindGranted:
		return w, nil
	}
	switch w.Cause {
	case history.CauseReleased, history.CauseExpired, history.CauseRevoked:
		return w, nil
	}
	return w, fmt.Errorf("its cause is %q, want %q, %q or %q", w.Cause, history.CauseReleased, history.CauseExpired, history.CauseRevoked)
}

func (a *Account) take(w Word) error {
	before, known := a.last[w.Tenure]
	switch {
	case w.Kind == history.KindGranted && known:
		return fmt.Errorf("the tenure %q is granted a second time: want a name that is new for each grant, also after a restart", w.Tenure)
	case w.Kind == history.KindEnded && !known:
		return fmt.Errorf("the tenure %q ends, and was not granted", w.Tenure)
	case known && before.Scope != w.Scope:
		return fmt.Errorf("the tenure %q ends for %s, and was granted for %s", w.Tenure, w.Scope, before.Scope)
	case known && before.Kind == history.KindEnded:
		return fmt.Errorf("the tenure %q ends a second time", w.Tenure)
	}
	a.last[w.Tenure] = w
	return nil
}

const (
	name = "custom"

	settingCommand = "command"

	page = "docs/your-lock-service.md"
)

var worldSettings = []setting.Setting{
	{Name: settingCommand, Pattern: `\{(addr|port)\}`, Want: `a line for sh with {addr} or {port}, like "python3 server.py --listen {addr} --dir {dir}"`,
		About: "A line for sh that runs the lock service; {addr} is the address to listen on, {port} its port, and {dir} the directory for its files. It says what begins and ends, as " + page + " describes."},
}

var clientSettings = []setting.Setting{
	{Name: setting.Token, Default: setting.TokenGranted, Of: []string{setting.TokenGranted, setting.TokenNone}, About: "Its token for the storage. granted: its grant's, by the lock service's word. none: no token."},
	{Name: setting.Mode, Default: setting.ModeExclusive, Of: []string{setting.ModeExclusive, setting.ModeShared}, About: "Whether it holds its locks alone, or together with others that share them."},
}

// Service is the lock service that a command runs.
func Service() *service.Service {
	return &service.Service{
		Service: scenario.Service{
			Name: name, About: "A lock service of your own.", World: worldSettings, Client: clientSettings,
			Nodes: nodes.Name + "1", Check: check,
		},
		Faults: faults, Stray: true,

		Found: func() (where, bring string) { return "yours: " + page, "" },
		Where: "a command, named in the scenario",
		At:    func(string) (*service.Service, []string, error) { return nil, nil, errNoAccount },
		Start: start,
		Join:  func(stage service.Stage, _ []string) service.Servers { return &servers{stage: stage} }, // Observe says why it is of no use
		Reach: func(context.Context, []string) error { return errNoAccount },

		NoClient: errNoClient,
		Shows: func(client setting.Values) string {
			return map[string]string{setting.TokenGranted: history.ShowsGrant, setting.TokenNone: history.ShowsNone}[client.Text(setting.Token)]
		},
	}
}

var nodes = service.Nodes{Name: name, One: "process of the lock service", Many: "the lock service"}

// errNoAccount is why a server that is there already is of no use.
var errNoAccount = errors.New("a lock service of your own tells of its tenures by its standard output, so gcsim has to start it: name its command in the scenario, as " + page + " says, and leave its address out")

// errNoClient is why a client of such a service is a program of the user's.
var errNoClient = errors.New("gcsim has no client for a lock service of your own: give it a \"command\"; docs/your-client.md says what the command does")

// check finds a world without a command, and clients without one.
func check(world scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
	if world.Settings.Text(settingCommand) == "" {
		return &scenario.Conflict{Setting: settingCommand, Text: "a lock service of your own needs a command: want world: {" + name + ": {command: LINE}} in a scenario, or --world command=LINE"}
	}
	for _, client := range slices.Sorted(maps.Keys(clients)) {
		if clients[client].Command.Words == nil {
			return &scenario.Conflict{Client: client, Setting: "lock", Text: errNoClient.Error()}
		}
	}
	return nil
}

// Leave implements service.Servers. The process ends with the run.
func (s *servers) Leave(context.Context) {}

// servers are the one process of a run, and what it says.
type servers struct {
	stage   service.Stage
	server  *program.Server // nil: there is none
	account *Account
	told    chan struct{} // closed when all that the process said was taken in
}

func start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	server, err := program.New(stage.Group(), name, stage.Plan().World.Text(settingCommand), filepath.Join(stage.Group().Dir, name))
	if err != nil {
		return nil, err
	}
	s := &servers{stage: stage, server: server, account: NewAccount(time.Now())}
	server.Stays, server.Listen = true, s.listen
	return s, server.Start(ctx)
}

// listen begins to take in what a process says. The process ends the run when it ends
// without being told to, and when it says what cannot be.
func (s *servers) listen(p *proc.Process) {
	told := make(chan struct{})
	s.told = told
	s.stage.Go(func() {
		defer close(told)
		err := p.ReadLines(p.Stdout, func(line []byte) error {
			w, err := s.account.Line(line)
			if err == nil {
				s.stage.Tell(w.event())
			}
			return err
		})
		if refused := new(proc.LineError); errors.As(err, &refused) {
			p = nil // whoever ends it: its account is of no use
		}
		s.stage.Fail(p, err)
	})
}

// Observe has nothing to begin: the account began with the process.
func (s *servers) Observe(context.Context) error {
	if s.server == nil {
		return errNoAccount
	}
	return nil
}

func (s *servers) Endpoints(context.Context, setting.Values) ([]string, error) {
	return []string{s.server.Addr()}, nil
}

var faults = nodes.Faults(func(of service.Servers, _ string) service.Subject {
	s := of.(*servers)
	return service.Subject{Controlled: controlled{s.server}, Called: "the lock service", Told: s.told}
}, func(ctx context.Context, of service.Servers, story service.Story, _ scenario.Step) error {
	if err := story.Meanwhile(ctx, "the lock service to listen", of.(*servers).server.Start); err != nil {
		return err
	}
	story.Remark(story.Now(), "the lock service is started again")
	return nil
})

// controlled is a server that can be stopped.
type controlled struct{ *program.Server }

func (c controlled) Pause(context.Context) error { return c.Process().Pause() }

func (c controlled) Resume() error { return c.Process().Resume() }
