package sqlservice

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/setting"
)

// About is what is special about one database.
type About struct {
	// Words are what scenarios can say of it, but for what all databases have. Words.Check is
	// of settings of servers, Rules of those of clients.
	Words scenario.Service
	Rules []Rule
	// Recipes are all of them. The first is the usual one.
	Recipes []*Recipe
	// Usual is where the database is where nobody says.
	Usual []string
	// Open is how a client reaches it.
	Open func(endpoints []string) (Database, error)

	// Of one that has servers: Start starts one, and Rights tries what a run needs rights for.
	Start  func(ctx context.Context, g *proc.Group, world setting.Values) (Server, error)
	Rights func(ctx context.Context, conn Conn) error
}

// Described is a type whose values say what is special about a database.
type Described interface{ About() *About }

// Service is the part of a service.Service that all databases have in common.
type Service[D Described] struct{}

func about[D Described]() *About {
	var d D
	return d.About()
}

// Name implements service.Dialer.
func (Service[D]) Name() string { return about[D]().Words.Name }

func (Service[D]) ClientSettings() []setting.Setting { return about[D]().Words.Client }

func (Service[D]) DefaultEndpoints() []string { return about[D]().Usual }

func (Service[D]) Dial(o service.Options) (service.Client, error) {
	by := service.RecipeOf(about[D]().Recipes, o.Settings)
	if by.Peer != "" {
		return nil, service.ErrInJava(by.ID)
	}
	database, err := about[D]().Open(o.Endpoints)
	if err != nil {
		return nil, err
	}
	return &Client{Database: database, Settings: o.Settings, Recipe: by, pools: make(map[string]*pool)}, nil
}

// Words implements service.Service.
func (Service[D]) Words() scenario.Service {
	d := about[D]()
	words := d.Words
	words.About, words.Unqueued, words.Halfway = "The lock service.", true, true
	words.Compares = func(client scenario.Client) bool {
		return service.RecipeOf(d.Recipes, client.Values).Same != nil && client.Flag(settingCompare)
	}
	words.Check = func(w scenario.World, clients map[string]scenario.Client) *scenario.Conflict {
		if found := d.check(w, clients); found != nil || d.Words.Check == nil {
			return found
		}
		return d.Words.Check(w, clients)
	}
	return words
}

func (Service[D]) Told(client string, all map[string]scenario.Client) setting.Values {
	return all[client].Values
}

func (Service[D]) Shows(client setting.Values) string {
	return service.RecipeOf(about[D]().Recipes, client).Shows
}

// Slot is the owner, which clients choose anew for each tenure.
func (Service[D]) Slot(tenure string) string { return tenure }

// slack is how long a machine that is busy may take to do what is due.
const slack = 3 * time.Second

// Bounds implements service.Bounded, where a database ends the sessions of clients that
// ask for nothing for a time. A client whose clock is ahead gets a lease that lasts longer, if
// its recipe goes by that clock. A lock that a connection has is to last no longer than others.
// Nobody waits for a tenure that keeps nobody out.
func (Service[D]) Bounds(world setting.Values, clients map[string]scenario.Client) (bounds map[string]time.Duration, handover time.Duration) {
	var idle time.Duration
	if _, has := world[SettingIdle]; has {
		idle = world.Time(SettingIdle)
	}
	bounds = make(map[string]time.Duration)
	for name, c := range clients {
		by := service.RecipeOf(about[D]().Recipes, c.Values)
		if by.Same != nil {
			continue
		}
		bounds[name] = max(c.Time(setting.TTL), idle) + slack
		if by.ByItsClock {
			bounds[name] += c.Time(Ahead.Name)
		}
	}
	return bounds, slack
}

// Served is the same of databases that have servers.
type Served[D Described] struct{ Service[D] }

// Launch implements service.Shared.
func (Served[D]) Launch(ctx context.Context, g *proc.Group, world setting.Values) (service.Launched, error) {
	server, err := about[D]().Start(ctx, g, world)
	if err != nil {
		return service.Launched{}, err
	}
	return service.Launched{Endpoints: []string{server.Address()}, Processes: []*proc.Process{server.Process()}}, nil
}

// Peer implements service.Peered.
func (Served[D]) Peer(client setting.Values) string {
	return service.RecipeOf(about[D]().Recipes, client).Peer
}

// reachDeadline is for how long a server that is there already is asked.
const reachDeadline = 10 * time.Second

// Reach implements service.Service. A server of which runs cannot have an account is of no
// use.
func (s Served[D]) Reach(ctx context.Context, endpoints []string) error {
	if len(endpoints) != 1 || !isAddress(endpoints[0]) {
		return fmt.Errorf("%s at %q: want one HOST:PORT", s.Name(), endpoints)
	}
	ctx, cancel := context.WithTimeout(ctx, reachDeadline)
	defer cancel()
	database, err := about[D]().Open(endpoints)
	if err != nil {
		return err
	}
	conn, err := database.Beside(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name(), err)
	}
	defer conn.HangUp()
	if err := about[D]().Rights(ctx, conn); err != nil {
		return fmt.Errorf("%s at %s: %w", s.Name(), endpoints[0], err)
	}
	return nil
}

// isAddress reports whether s is HOST:PORT, as far as can be told without trying.
func isAddress(s string) bool {
	host, port, err := net.SplitHostPort(s)
	return err == nil && host != "" && port != "" && !strings.ContainsAny(host, " /@")
}
