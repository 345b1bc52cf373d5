package sqlservice

import (
	"context"
	"fmt"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/network"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

const (
	settingStandby      = "standby"
	standbyNone         = "none"
	standbyAsynchronous = "asynchronous"
	standbySynchronous  = "synchronous"
)

// StandbySetting is the setting of a database that can have a second server; synchronously is how it waits for that.
func StandbySetting(synchronously string) setting.Setting {
	return setting.Setting{Name: settingStandby, Default: standbyNone, Of: []string{standbyNone, standbyAsynchronous, standbySynchronous},
		About: "Whether its server has a standby, which follows it. none: it has none. asynchronous: the server answers a client, and then tells the standby. synchronous: it answers when the standby has what it answers (" + synchronously + "). Clients find the server that leads at one address, as behind a proxy."}
}

// HasStandby reports whether the server of a world has one.
func HasStandby(world setting.Values) bool {
	_, can := world[settingStandby]
	return can && world.Text(settingStandby) != standbyNone
}

// IsSynchronous reports whether it waits for its standby.
func IsSynchronous(world setting.Values) bool {
	return world.Text(settingStandby) == standbySynchronous
}

// nodesOf are the server, which leads, and its standby.
func (d *About) nodesOf(world setting.Values) []history.Node {
	if !HasStandby(world) {
		return nil
	}
	return service.NodesOf(d.Name, 2, d.Name+"1")
}

// own says why a variant needs servers of its own.
func (d *About) own(world setting.Values, clients map[string]scenario.Client) (why []string) {
	if d.Own != nil {
		why = d.Own(world, clients)
	}
	if HasStandby(world) {
		why = append(why, "wants a server with a standby")
	}
	return why
}

// Pair is how a database has a second server follow its first one.
type Pair struct {
	// Follow starts a server that follows the one at an address, HOST:PORT, and returns when it serves reads.
	Follow func(ctx context.Context, g *proc.Group, world setting.Values, leader string) (Server, error)
	// Has reports whether the standby has all that the server has committed.
	Has func(ctx context.Context, leader, standby Conn) (bool, error)
	// Promote has the standby lead. It returns when that takes writes.
	Promote func(ctx context.Context, standby Conn) error
}

// standby is the second server of a run, the network by which it follows the first one, and the address at which
// clients find the one that leads.
type standby struct {
	pair     *Pair
	server   Server
	database Database // as gcsim itself reaches it
	link     *network.Link
	door     *network.Door
	leads    bool
}

// standBy starts a standby of the run's server.
func (d *About) standBy(ctx context.Context, s *Servers) error {
	group, addr := s.Stage.Group(), s.Server.Endpoint()
	link, err := d.link(addr)
	if err != nil {
		return err
	}
	group.After(link.Close)
	door, err := network.NewDoor(addr)
	if err != nil {
		return err
	}
	group.After(door.Close)
	server, err := d.Pair.Follow(ctx, group, s.Stage.Plan().World, link.Addr())
	if err != nil {
		return err
	}
	service.Guard(s.Stage, server.Process())
	database, err := d.Open(d.OwnURL, []string{server.Endpoint()})
	s.Address, s.standby = door.Addr(), &standby{pair: d.Pair, server: server, database: database, link: link, door: door}
	return err
}

// link is the network to a server.
func (d *About) link(addr string) (*network.Link, error) {
	if d.Greets {
		return network.NewGreeted(addr)
	}
	return network.New(addr)
}

// leading is the server that leads; nil: it was there already, or there is none.
func (s *Servers) leading() Server {
	if s.standby != nil && s.standby.leads {
		return s.standby.server
	}
	return s.Server
}

// awaitStandby returns when the standby has all that the server has committed.
func (s *Servers) awaitStandby(ctx context.Context) error {
	leader, err := s.Database.Beside(ctx)
	if err != nil {
		return err
	}
	defer leader.HangUp()
	follower, err := s.standby.database.Beside(ctx)
	if err != nil {
		return err
	}
	defer follower.HangUp()
	for {
		if has, err := s.standby.pair.Has(ctx, leader, follower); has || err != nil {
			return err
		}
		if !sleep.For(ctx, PollEvery) {
			return ctx.Err()
		}
	}
}

// What a story says of the standby.
const (
	standbyIsolated = "the standby is isolated"
	standbyPromoted = "the standby is promoted"
)

// checkStandby makes the Check of a Form about the standby of a service. more says what else is wrong, else notes what
// is so now.
func checkStandby(name string, more func(s *scenario.Story) string) func(*scenario.Story, *scenario.ClientStory, scenario.Step) string {
	return func(s *scenario.Story, _ *scenario.ClientStory, step scenario.Step) string {
		switch {
		case !HasStandby(s.Variant.World.Settings):
			return fmt.Sprintf("%s1 has no standby: it needs \"standby: asynchronous\"", name)
		case step.Node != name+"2":
			return fmt.Sprintf("%s is no standby: the standby is %s2", step.Node, name)
		case s.Facts[standbyPromoted]:
			return step.Node + " is promoted already, and leads"
		}
		return more(s)
	}
}

// isolating is a checkStandby of a step that isolates the standby, or undoes that, while its server runs.
func isolating(name string, isolates bool, otherwise string) func(*scenario.Story, *scenario.ClientStory, scenario.Step) string {
	return checkStandby(name, func(s *scenario.Story) string {
		server := name + "1"
		switch {
		case s.Facts[fmt.Sprintf(service.NodeDead, server)] || s.Facts[fmt.Sprintf(service.NodeStill, server)]:
			return server + " does not run here: nothing passes between the two as it is"
		case s.Facts[standbyIsolated] == isolates:
			return otherwise
		}
		s.Facts[standbyIsolated] = isolates
		return ""
	})
}

// StandbyFaults isolate the standby of a database, heal that, and promote it.
func StandbyFaults(name, title string) []*service.Fault {
	standby := name + "2"
	return []*service.Fault{
		ofStandby(scenario.Form{
			Usage: "isolate NODE", Own: "isolates a standby of " + title,
			About: "Nothing passes between a standby and its server, until \"heal NODE\". The standby has all that the server did before. Clients reach the server.",
			Check: isolating(name, true, standby+" is isolated already"),
		}, func(ctx context.Context, s *Servers, story service.Story, step scenario.Step) error {
			if err := story.Meanwhile(ctx, step.Node+" to have all", s.awaitStandby); err != nil {
				return err
			}
			s.standby.link.Tx.Shut()
			s.standby.link.Rx.Shut()
			story.Remark(story.Now(), step.Node+", the standby, hears nothing from now on", history.Node{Name: step.Node, State: history.NodeIsolated})
			return nil
		}),
		ofStandby(scenario.Form{
			Usage: "heal NODE",
			About: "The isolated standby and its server reach each other again. Over when the standby has all that the server did.",
			Check: isolating(name, false, fmt.Sprintf("%s is not isolated here: it needs a step \"gcsim: isolate %[1]s\" before", standby)),
		}, func(ctx context.Context, s *Servers, story service.Story, step scenario.Step) error {
			s.standby.link.Cut()
			s.standby.link.Tx.Open()
			s.standby.link.Rx.Open()
			if err := story.Meanwhile(ctx, step.Node+" to catch up", s.awaitStandby); err != nil {
				return err
			}
			story.Remark(story.Now(), step.Node+", the standby, has all that its server did", history.Node{Name: step.Node, State: history.NodeRunning})
			return nil
		}),
		ofStandby(scenario.Form{
			Usage: "promote NODE", Own: "promotes a standby of " + title,
			About: "The standby leads, whatever its old server does. The clients' connections break, and new ones lead to it. A tenure that it does not know is over.",
			Check: checkStandby(name, func(s *scenario.Story) string {
				if s.Facts[fmt.Sprintf(service.NodeStill, name+"1")] {
					return fmt.Sprintf("%s1 stands still, and has not told all that it did: it needs a step \"gcsim: kill %[1]s1\" before", name)
				}
				s.Facts[standbyPromoted] = true
				return ""
			}),
		}, promote),
	}
}

func ofStandby(form scenario.Form, do func(context.Context, *Servers, service.Story, scenario.Step) error) *service.Fault {
	return service.NewFault(form, func(ctx context.Context, s Running, story service.Story, step scenario.Step) error {
		return do(ctx, s.common(), story, step)
	})
}

// promote ends the account of the old server before it goes on with that of the new one.
func promote(ctx context.Context, s *Servers, story service.Story, step scenario.Step) error {
	b, at := s.standby, story.Now()
	open := b.door.Turn(b.server.Endpoint())
	s.stop()
	if err := story.AwaitClosed(ctx, "the end of what the old server told", s.ended); err != nil {
		return err
	}
	err := story.Meanwhile(ctx, step.Node+" to lead", func(starting context.Context) error {
		conn, err := b.database.Connect(starting, s.where())
		if err != nil {
			return err
		}
		defer conn.HangUp()
		if err := b.pair.Promote(starting, conn); err != nil {
			return err
		}
		story.Remark(at, step.Node+" is promoted: clients find it where they found its server", history.Node{Name: step.Node, State: history.NodeRunning, Leads: true})
		s.Database, s.Tables, b.leads = b.database, Tables{}, true
		if err := s.Account.Moved(starting, conn, step.Node+" does not have its row"); err != nil {
			return err
		}
		return s.watch(ctx, starting)
	})
	open()
	return err
}
