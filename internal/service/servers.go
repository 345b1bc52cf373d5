package service

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencelab/fencelab/internal/explore/model"
	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/pkg/fence"
)

// Model has a client of a variant, and what it finds in its lock service, in the world of the explorer's model. What all
// services have in common is there already. lacks says, after the client's name, what the model has not; "": it has all.
type Model func(v *scenario.Variant, client string, w *model.Settings, c *model.Client) (lacks string)

// What the model lacks of clients of several services.
const (
	LacksSharing   = "shares its lock, and the model has no shared locks"
	LacksComparing = "takes no lock, but compares, and the model has locks alone"
)

// Service is a lock service: all that is special about one. What is nil it has not, or cannot do.
type Service struct {
	// What scenarios can say of it. The forms are those of Faults, and Issuer and Unqueued go
	// by IssuerArgs and Position.
	scenario.Service
	// Faults are steps that no other service has.
	Faults []*Fault

	// Found says where the service's servers come from, as in "embedded"; "" where what
	// they need is missing, and then bring is the command that brings it.
	Found func() (where, bring string)
	// Whole compares what Get has fetched, if Found finds that, with its check sums. Found compares the sizes alone.
	// nil: nothing is fetched.
	Whole func() error
	// Get fetches what servers need, or a part of that, into the user's cache, as far as it is
	// missing or damaged, and tells progress about it, in lines. Where nothing is missing it needs no network.
	Get func(ctx context.Context, progress io.Writer) error
	// Apart: Get takes so long that who asks for all does not mean it.
	Apart bool
	// At is the service with the servers that a user names, in the words of Where. endpoints are those
	// of servers that are there already; without any the service starts its own.
	At    func(where string) (at *Service, endpoints []string, err error)
	Where string
	// Env is what the environment of its clients' programs says of servers that are there
	// already, NAME=VALUE.
	Env []string
	// Command is that by which the lab's program becomes a server of it.
	Command func() *cobra.Command
	// NodesOf are the servers that gcsim starts in a world, if they are several. Leader names the one that leads when a
	// story begins, where they choose that themselves and are a run's own. nil: there is one server; nobody chooses.
	NodesOf func(world setting.Values) []history.Node
	Leader  func(ctx context.Context, s Servers) (string, error)
	// Start starts servers for one run, on free ports. nil: what Launch starts is joined.
	Start func(ctx context.Context, s Stage) (Servers, error)
	// Launch starts servers that take long to start, in a group, and returns when they serve. They are
	// started once for all runs that need none of their own, and each of these joins them.
	Launch func(ctx context.Context, g *proc.Group, world setting.Values) (Launched, error)
	// Join is Start with servers that are there already, and that others may use as
	// well: the names of the locks begin with a prefix of the run's own.
	Join func(s Stage, endpoints []string) Servers
	// Reach returns when servers that are there already have answered.
	Reach func(ctx context.Context, endpoints []string) error
	// Lacks is what the servers that a variant would get lack, as in "the embedded
	// server has no replicas"; "" is nothing.
	Lacks func(v *scenario.Variant) string
	// Greets says that servers speak before their clients do.
	Greets bool

	// Dial makes a client that is gcsim itself. It need not connect: Client.Reach does. NoClient
	// is why there is none: each is a command of the user's, or a program in another language.
	Dial     func(Options) (Client, error)
	NoClient error
	// Halves says that each client that Dial makes has its library in a second process, as package peer has it.
	Halves bool
	// Untold is why the account does not tell of a lock that somebody else's program takes in the way of a
	// client with these settings; nil: it does.
	Untold func(client setting.Values) error
	// DefaultEndpoints are where clients look for the service where nobody says.
	DefaultEndpoints []string
	// Peer names the program of a client with these settings, which is a library in another language: the language's
	// name, a slash, and the program's. "": the client is gcsim's own.
	Peer func(client setting.Values) string
	// PeerEnv is what the environment of such a program says, beside Env, of the servers at
	// these addresses, where a lock is to be found.
	PeerEnv func(endpoints []string, lock string) ([]string, error)
	// Told are the settings that a client's agent is told, of all clients of a variant. Where one uses
	// what is another's, as its session, it is told so with each lock. nil: its own.
	Told func(client string, all map[string]scenario.Client) setting.Values
	// Shows is what a client with these settings shows as its token, in the words of
	// history.Run.Tokens.
	Shows func(client setting.Values) string

	Model Model // nil: the model has nothing of the service

	// Slot is what a client's unlock of a tenure frees. Where a client uses a slot
	// again for its next tenure, a late unlock of the one before frees that. A slot that
	// has the name of a tenure is of this tenure's client alone, which calls all tenures
	// in the slot by this name. nil: the tenure itself.
	Slot func(tenure string) string
	// Bounds are history.Run.Bounds and history.Run.Handover: within which times locks are freed
	// and granted, as long as nothing is done to the servers. Of a client that cannot be
	// said to hold its locks by its own renewals there is no bound.
	Bounds func(world setting.Values, clients map[string]scenario.Client) (bounds map[string]time.Duration, handover time.Duration)
	// Stray says that the account is the word of a program of the user's: what it tells of tenures is judged, too,
	// where no client has any part in them.
	Stray bool
	// IssuerArgs tell the storage to ask the service for the last token that was given out.
	IssuerArgs func(Servers) []string
	// Position is a place in the service's order of tenures: what begins or queues from
	// now on has a higher token. nil: the account does not tell who waits.
	Position func(context.Context, Servers) (fence.Token, error)
}

// Embed makes s a service that nobody serves: each run has files of its own, as has says.
func (s *Service) Embed(has string) *Service {
	const embedded = "embedded"
	s.Where = embedded
	s.Found = func() (where, bring string) { return embedded, "" }
	s.At = func(where string) (*Service, []string, error) {
		if where != embedded {
			return nil, nil, fmt.Errorf("want %q: %s", embedded, has)
		}
		return s, nil, nil
	}
	s.Reach = func(context.Context, []string) error {
		return fmt.Errorf("%s: there are no servers, and so no --endpoints: %s", s.Name, has)
	}
	return s
}

// Begin starts servers for one run.
func (s *Service) Begin(ctx context.Context, stage Stage) (Servers, error) {
	if s.Start != nil {
		return s.Start(ctx, stage)
	}
	launched, err := s.Launch(ctx, stage.Group(), stage.Plan().World)
	if err != nil {
		return nil, err
	}
	for _, p := range launched.Processes {
		Guard(stage, p)
	}
	return s.Join(stage, launched.Endpoints), nil
}

func (s *Service) Tells(client string, all map[string]scenario.Client) setting.Values {
	if s.Told != nil {
		return s.Told(client, all)
	}
	return all[client].Values
}

func (s *Service) SlotOf(tenure string) string {
	if s.Slot != nil {
		return s.Slot(tenure)
	}
	return tenure
}

const (
	// ReachDeadline is for how long servers that are there already are asked whether they answer.
	ReachDeadline = 10 * time.Second
	// ObserveDeadline is for how long servers are asked for the beginning of the account. PostgreSQL
	// waits for the transactions that are open.
	ObserveDeadline = 30 * time.Second
)

// Slack is how long a machine that is busy may take to do what is due.
const Slack = 3 * time.Second

// BoundsBy are Bounds of locks that are free when their TTL and so much more are over, and are
// granted at once.
func BoundsBy(late time.Duration) func(setting.Values, map[string]scenario.Client) (map[string]time.Duration, time.Duration) {
	return func(_ setting.Values, clients map[string]scenario.Client) (map[string]time.Duration, time.Duration) {
		bounds := make(map[string]time.Duration)
		for name, c := range clients {
			bounds[name] = c.Time(setting.TTL) + late + Slack
		}
		return bounds, Slack
	}
}

// IsAddress reports whether s is HOST:PORT, as far as can be told without trying.
func IsAddress(s string) bool {
	host, port, err := net.SplitHostPort(s)
	if err != nil || host == "" || strings.ContainsAny(host, " /@") {
		return false
	}
	n, err := net.LookupPort("tcp", port)
	return err == nil && n > 0
}

// PeerOf is Service.Peer of a client; "" where a command of the user's is the client.
func PeerOf(s *Service, c scenario.Client) string {
	if s.Peer == nil || c.Command.Words != nil {
		return ""
	}
	return s.Peer(c.Values)
}

// PeersOf are Service.Peer of a variant's clients that have such a program, by the client's name.
func PeersOf(s *Service, v *scenario.Variant) map[string]string {
	peers := make(map[string]string)
	for name, c := range v.Clients {
		if peer := PeerOf(s, c); peer != "" {
			peers[name] = peer
		}
	}
	return peers
}

// Halved reports whether a client is two processes: gcsim's own, and one that has the library.
func (s *Service) Halved(c scenario.Client) bool {
	return s.Halves && c.Command.Words == nil || PeerOf(s, c) != ""
}

// Launched are servers that several runs share.
type Launched struct {
	Endpoints []string
	Processes []*proc.Process // whose end ends all these runs
}

// Fault is a step that one service has.
type Fault struct {
	scenario.Form
	Do Doing
}

// NewFault makes a fault that the lab does to servers of a service's own type.
func NewFault[S Servers](form scenario.Form, do func(ctx context.Context, s S, story Story, step scenario.Step) error) *Fault {
	form.Actor = scenario.ActorLab
	return &Fault{form, func(ctx context.Context, s Servers, story Story, step scenario.Step) error {
		return do(ctx, s.(S), story, step)
	}}
}

// Servers are those of one run. The service that started them knows their type.
type Servers interface {
	// Observe begins the account of tenures, and returns when it is there.
	Observe(ctx context.Context) error
	// Endpoints are the addresses, HOST:PORT, that a client with these settings knows.
	Endpoints(ctx context.Context, client setting.Values) ([]string, error)
	// Leave ends what the run has left in servers that go on without it.
	Leave(ctx context.Context)
}

// Account takes in what is told of a lock service.
type Account interface {
	// Tell takes in events of the service's account: that a tenure was granted, that one ended, that a
	// client queued. What one change of the service's state means is told at once. The time of an
	// event is that since 1970. An end before its lease ran out can have the cause
	// history.CauseRevoked, and a text that says why. A text with no cause says with what a tenure
	// ends that has no lease. Both hold unless the tenure's own client let go of it; other causes are
	// the run's to find.
	Tell(events ...history.Event)
	// Fail ends the account, unless p was to end. p is nil where no process ended.
	Fail(p *proc.Process, err error)
}

// Stage is where servers are, and who looks at them.
type Stage interface {
	Account
	Plan() Plan
	// Group is where the processes and files are.
	Group() *proc.Group
	// Go starts what is waited for at the end.
	Go(do func())
	// Over is closed when the account is over.
	Over() <-chan struct{}
	// Meanwhile does something that takes time, while what accounts say is taken in; what
	// names it in errors.
	Meanwhile(ctx context.Context, what string, do func(context.Context) error) error
}

// Guard has the end of a process be one of the account, unless the process was to end.
func Guard(s Stage, p *proc.Process) {
	s.Go(func() {
		select {
		case <-p.Done():
			s.Fail(p, p.Ended())
		case <-s.Over():
		}
	})
}

// Meanwhile is Stage.Meanwhile for what has a result.
func Meanwhile[T any](ctx context.Context, s Stage, what string, do func(context.Context) (T, error)) (result T, err error) {
	err = s.Meanwhile(ctx, what, func(ctx context.Context) (err error) {
		result, err = do(ctx)
		return err
	})
	return result, err
}

// Plan is what servers are for. It is known before they are there.
type Plan struct {
	World setting.Values // settings of the servers
	// Locks are the names of the locks, as the clients ask for them. Prefix is with what
	// they begin where others use the servers as well.
	Locks  []string
	Prefix string
	// Clients are those of the story, by name, and Steps are the story; nil where none is told.
	Clients map[string]scenario.Client
	Steps   []scenario.Step
}

// Story is a run in which a fault happens.
type Story interface {
	Stage
	// Ends says that the story ends a process, which is about to be killed.
	Ends(p *proc.Process)
	// AwaitClosed waits until a channel is closed; what names this in errors.
	AwaitClosed(ctx context.Context, what string, closed <-chan struct{}) error
	// Now is the run's time.
	Now() time.Duration
	// Remark notes something about the service in the history, and how nodes of it are from now on.
	Remark(at time.Duration, text string, nodes ...history.Node)
	// Tenure is the one that a step's client was granted last, or has queued for since:
	// of the lock that the step names, else of all.
	Tenure(step scenario.Step) string
	// Revoked says that the story ends tenures, not their clients and not their leases:
	// all for which yes is true, of those that are not over.
	Revoked(yes func(tenure string) bool)
	// AwaitEnd waits for the end of a client's tenure.
	AwaitEnd(ctx context.Context, client, tenure string) error
}

// Noted does something, and notes it in the history, by the time when it began.
func Noted(s Story, text string, do func() error, nodes ...history.Node) error {
	at := s.Now()
	err := do()
	if err == nil {
		s.Remark(at, text, nodes...)
	}
	return err
}
