package sqlservice

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"

	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

// About is what is special about one database.
type About struct {
	// Service is what is special about its service. Check is of settings of servers, Rules of
	// those of clients.
	service.Service
	Rules []Rule
	// Recipes are all of them. The first is the usual one.
	Recipes []*Recipe
	// Open is how a client reaches the database. url is the server's URL without the address; "": there
	// is no server.
	Open func(url string, endpoints []string) (Database, error)

	// Of one that has servers: Server starts one, of which Servers makes those of a run. Started starts what is before
	// a run's own, and Launched makes what one has that runs share; nil: nothing. Rights tries what a run needs rights for.
	Server   func(ctx context.Context, g *proc.Group, world setting.Values) (Server, error)
	Servers  func(stage service.Stage, url, addr string) Running
	Started  func(ctx context.Context, s Running) error
	Launched func(ctx context.Context, conn Conn) error
	Rights   func(ctx context.Context, conn Conn) error
	Pair     *Pair // nil: its server has no standby
	// JDBC is what the driver in Java calls the database of a lock, in servers at a URL.
	JDBC func(u *url.URL, lock string) (driver, path string, parameters url.Values)
	// URL is that of one that is there already, with its password, and Variable has it in
	// the environment, which no list of processes shows; "": a run starts one, whose URL is OwnURL
	// with its address.
	URL, Variable, OwnURL string
}

// Running are service.Servers that embed Servers.
type Running interface {
	service.Servers
	common() *Servers
}

// Made is the service, with what all databases have in common.
func (d *About) Made() *service.Service {
	s := d.Service
	s.About, s.Halfway = "The lock service.", true
	s.Compares = func(client scenario.Client) bool {
		return d.by(client.Values).Same != nil && client.Flag(settingCompare)
	}
	s.Check, s.Own = d.check, d.own
	s.Dial = d.dial
	s.Shows = func(client setting.Values) string { return d.by(client).Shows }
	s.Bounds, s.Model = d.bounds, d.inModel
	s.Untold = func(client setting.Values) error {
		if by := d.by(client); by.Hold != nil || by.Look != nil {
			return fmt.Errorf("no table of %s has the locks of %s=%s: clients of gcsim tell of them by a message, and another program does not", s.Name, service.By, by.ID)
		}
		return nil
	}
	if d.Server != nil {
		s.Where = whereIs
		s.NodesOf, s.Start, s.Launch, s.Reach = d.nodesOf, d.start, d.launch, d.reach
		s.Join = func(stage service.Stage, endpoints []string) service.Servers {
			return d.Servers(stage, d.url(), endpoints[0])
		}
		s.Peer = func(client setting.Values) string { return d.by(client).Peer }
		s.PeerEnv = d.peerEnv
	}
	if d.URL != "" {
		s.Env = []string{d.Variable + "=" + d.URL}
	}
	return &s
}

// url is the URL of the servers that clients reach, without the address.
func (d *About) url() string { return cmp.Or(d.URL, d.OwnURL) }

// peerEnv tells a client in Java of a database, by a variable of the environment, which no list
// of processes shows.
func (d *About) peerEnv(endpoints []string, lock string) ([]string, error) {
	u, err := url.Parse(d.url())
	if err != nil {
		return nil, err
	}
	driver, path, parameters := d.JDBC(u, lock)
	parameters.Set("user", u.User.Username())
	if password, has := u.User.Password(); has {
		parameters.Set("password", password)
	}
	return []string{"FENCELAB_JDBC_URL=jdbc:" + driver + "://" + endpoints[0] + path + "?" + parameters.Encode()}, nil
}

func (d *About) by(client setting.Values) *Recipe { return service.RecipeOf(d.Recipes, client) }

func (d *About) dial(o service.Options) (service.Client, error) {
	by := d.by(o.Settings)
	if by.Peer != "" {
		return nil, service.ErrOriginal(by.ID)
	}
	database, err := d.Open(d.url(), o.Endpoints)
	if err != nil {
		return nil, err
	}
	return &Client{Database: database, Settings: o.Settings, Recipe: by, pools: make(map[string]*pool)}, nil
}

// bounds are those of service.Service, where a database ends the sessions of clients that
// ask for nothing for a time. A client whose clock is ahead gets a lease that lasts longer, if
// its recipe goes by that clock. A lock that a connection has is to last no longer than others.
// Nobody waits for a tenure that keeps nobody out.
func (d *About) bounds(world setting.Values, clients map[string]scenario.Client) (bounds map[string]time.Duration, handover time.Duration) {
	var idle time.Duration
	if _, has := world[SettingIdle]; has {
		idle = world.Time(SettingIdle)
	}
	bounds = make(map[string]time.Duration)
	for name, c := range clients {
		by := d.by(c.Values)
		if by.Same != nil {
			continue
		}
		bounds[name] = max(c.Time(setting.TTL), idle) + service.Slack
		if by.ByItsClock {
			bounds[name] += c.Time(java.Ahead.Name)
		}
	}
	return bounds, service.Slack
}

const whereIs = "the URL of one that is there already"

// AddressIn is the address in such a URL, where example is one.
func AddressIn(where, example, port string, schemes ...string) (string, error) {
	want := fmt.Errorf("want %s such as %s", whereIs, example)
	u, err := url.Parse(where)
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %w", want, err)
	case !slices.Contains(schemes, u.Scheme) || u.Hostname() == "":
		return "", want
	}
	return net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)), nil
}

func (d *About) start(ctx context.Context, stage service.Stage) (service.Servers, error) {
	server, err := d.Server(ctx, stage.Group(), stage.Plan().World)
	if err != nil {
		return nil, err
	}
	service.Guard(stage, server.Process())
	s := d.Servers(stage, d.OwnURL, server.Endpoint())
	s.common().Server = server
	if HasStandby(stage.Plan().World) {
		err = d.standBy(ctx, s.common())
	}
	if err == nil && d.Started != nil {
		err = d.Started(ctx, s)
	}
	return s, err
}

func (d *About) launch(ctx context.Context, g *proc.Group, world setting.Values) (service.Launched, error) {
	server, err := d.Server(ctx, g, world)
	if err != nil {
		return service.Launched{}, err
	}
	launched := service.Launched{Endpoints: []string{server.Endpoint()}, Processes: []*proc.Process{server.Process()}}
	if d.Launched != nil {
		err = d.ask(ctx, launched.Endpoints, d.Launched)
	}
	return launched, err
}

// reach asks one that is there already. A server of which runs cannot have an account is of no use.
func (d *About) reach(ctx context.Context, endpoints []string) error {
	if len(endpoints) != 1 || !service.IsAddress(endpoints[0]) {
		return fmt.Errorf("%s at %q: want one HOST:PORT", d.Name, endpoints)
	}
	ctx, cancel := context.WithTimeout(ctx, service.ReachDeadline)
	defer cancel()
	return d.ask(ctx, endpoints, d.Rights)
}

// ask asks a server by a connection of its own.
func (d *About) ask(ctx context.Context, endpoints []string, ask func(context.Context, Conn) error) error {
	database, err := d.Open(d.url(), endpoints)
	if err != nil {
		return err
	}
	conn, err := database.Beside(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", d.Name, err)
	}
	defer conn.HangUp()
	if err := ask(ctx, conn); err != nil {
		return fmt.Errorf("%s at %s: %w", d.Name, endpoints[0], err)
	}
	return nil
}
