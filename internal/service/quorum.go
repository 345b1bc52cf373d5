package service

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/proc"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Leader is what steps call the member that leads.
const Leader = "leader"

// The setting of a client that names the member that it talks to.
const (
	SettingMember  = "member"
	MemberAny      = "any"      // it knows them all
	MemberLeader   = Leader     // the one that leads when the story begins
	MemberFollower = "follower" // one that does not
	MemberObserver = "observer" // one without a vote
	MemberPrimary  = "primary"  // the one whose copy of the data changes first
)

// SettingMembers is how many members there are.
var SettingMembers = setting.Setting{Name: "members", Kind: setting.Number, Default: "1", Of: []string{"1", "3", "5"}, About: "How many members it has."}

// SettingSession is for how long the session of a client lasts, where the members choose that, and not the client.
const SettingSession = "session"

// Electing are members of a service that elect one of them to lead.
type Electing[M Member] struct {
	Nodes
	Service string // as people write it
	Leases  string // what a new leader gives its whole time anew; "": nothing
}

// Member is a process of such a service, which has the name of the member.
type Member interface {
	comparable
	Process() *proc.Process
	Restart(context.Context) error
}

// Quorum is the members of one run, most of which have to serve. The service's Servers embed it.
type Quorum[M Member] struct {
	Of      *Electing[M]
	Stage   Stage
	Members []M
	// Elect asks the members until one leads, by the word of most of them.
	Elect func(context.Context) (M, error)
	// Settle returns when the account goes on, after members were lost or came back; resumed:
	// one came back whose process goes on.
	Settle func(ctx context.Context, story Story, resumed bool) error
	// Stopped, if not nil, is told of a member that stands still. Isolated, if not nil, reports
	// whether a member and the others hear nothing of each other.
	Stopped  func(M)
	Isolated func(M) bool

	led  M   // and was lost in a step about the leader
	gone []M // that are dead or stand still
}

func (q *Quorum[M]) quorum() *Quorum[M] { return q }

func quorumOf[M Member](s Servers) *Quorum[M] { return s.(interface{ quorum() *Quorum[M] }).quorum() }

// Guard has the end of a member's process, as it is now, end the run.
func (q *Quorum[M]) Guard() {
	for _, m := range q.Members {
		Guard(q.Stage, m.Process())
	}
}

func (q *Quorum[M]) Leads(ctx context.Context) (M, error) {
	var none M
	return q.elect(ctx, "a leader of "+q.Of.Service, none)
}

// elect awaits that a member leads, other than one that is lost. That one may say for a while that it does.
func (q *Quorum[M]) elect(ctx context.Context, what string, lost M) (M, error) {
	return Meanwhile(ctx, q.Stage, what, func(ctx context.Context) (leader M, err error) {
		for leader = lost; leader == lost && err == nil; {
			leader, err = q.Elect(ctx)
		}
		return leader, err
	})
}

// Role is the member that leads, or one that does not, as MemberLeader and MemberFollower say.
func (q *Quorum[M]) Role(ctx context.Context, role string) (M, error) {
	leader, err := q.Leads(ctx)
	if err == nil && role == MemberFollower {
		return q.Others(leader)[0], nil
	}
	return leader, err
}

func (q *Quorum[M]) Others(one M) []M {
	return slices.DeleteFunc(slices.Clone(q.Members), func(m M) bool { return m == one })
}

// Serving are the members that neither are gone nor isolated. most says that they are most of all.
func (q *Quorum[M]) Serving() (serving []M, most bool) {
	for _, m := range q.Members {
		if !slices.Contains(q.gone, m) && (q.Isolated == nil || !q.Isolated(m)) {
			serving = append(serving, m)
		}
	}
	return serving, len(serving) > len(q.Members)/2
}

// Loss is a way in which a member is lost to the others. How and More say it of the member, as in
// "isolated" and " from the others"; How alone is a fact of the story. State is a history.Node's.
type Loss[M Member] struct {
	How, More, State string
	Do               func(Servers, Story, M) error
}

func stopped[M Member]() Loss[M] {
	return Loss[M]{How: "stopped", State: history.NodePaused, Do: func(of Servers, _ Story, m M) error {
		q := quorumOf[M](of)
		q.gone = append(q.gone, m)
		err := m.Process().Pause()
		if q.Stopped != nil {
			q.Stopped(m)
		}
		return err
	}}
}

func killed[M Member]() Loss[M] {
	return Loss[M]{How: "killed", State: history.NodeDead, Do: func(of Servers, story Story, m M) error {
		q := quorumOf[M](of)
		q.gone = append(q.gone, m)
		story.Ends(m.Process())
		return m.Process().Kill()
	}}
}

// lose does to a member what takes it from the others, and awaits that another one leads: of a
// member that did not lead itself only where most serve.
func (q *Quorum[M]) lose(ctx context.Context, of Servers, story Story, m M, by Loss[M], led bool) error {
	name, who, at := m.Process().Name, "a member of "+q.Of.Service, story.Now()
	if err := by.Do(of, story, m); err != nil {
		return err
	}
	if led {
		q.led, who = m, fmt.Sprintf("the member of %s that leads", q.Of.Service)
	}
	story.Remark(at, fmt.Sprintf("%s, %s, is %s%s", name, who, by.How, by.More), history.Node{Name: name, State: by.State})
	if _, most := q.Serving(); !most && !led {
		return nil
	}
	next, err := q.elect(ctx, "a leader without "+name, m)
	if err != nil {
		return err
	}
	now, leads := story.Now(), "leads the others"
	if led {
		leads = fmt.Sprintf("leads now; for %.3f s nobody did", (now - at).Seconds())
		if q.Of.Leases != "" {
			leads += ", and all " + q.Of.Leases + " were given their whole time anew"
		}
	}
	story.Remark(now, next.Process().Name+" "+leads, history.Node{Name: next.Process().Name, State: history.NodeRunning, Leads: true})
	return q.Settle(ctx, story, false)
}

type doing[M Member] = func(context.Context, Servers, Story, M) error

// resumed lets a stopped member go on; how says so.
func resumed[M Member](how string) doing[M] {
	return func(ctx context.Context, of Servers, story Story, m M) error {
		if err := m.Process().Resume(); err != nil {
			return err
		}
		story.Remark(story.Now(), m.Process().Name+how, history.Node{Name: m.Process().Name, State: history.NodeRunning})
		return quorumOf[M](of).regain(ctx, story, m, true)
	}
}

func restarted[M Member](ctx context.Context, of Servers, story Story, m M) error {
	name := m.Process().Name
	if err := story.Meanwhile(ctx, name+" to serve", m.Restart); err != nil {
		return err
	}
	Guard(story, m.Process())
	story.Remark(story.Now(), name+" is started again", history.Node{Name: name, State: history.NodeRunning})
	return quorumOf[M](of).regain(ctx, story, m, false)
}

// regain says that a member is not gone any more.
func (q *Quorum[M]) regain(ctx context.Context, story Story, m M, resumed bool) error {
	q.gone = slices.DeleteFunc(q.gone, func(o M) bool { return o == m })
	return q.Settle(ctx, story, resumed)
}

// leaderIs begins a fact of a story: how it lost the leader.
const leaderIs = "the leader is "

// LeaderFaults stop the member that leads, and let it go on.
func (e *Electing[M]) LeaderFaults() []*Fault {
	return []*Fault{
		e.LoseLeader("pause", "stops "+e.Service+"'s leader", "Stops "+e.Service+"'s leader, until \"resume leader\".", stopped[M]()),
		e.RegainLeader("resume", "Lets "+e.Service+"'s old leader go on.", "stopped", resumed[M](", the member that led, goes on, as a follower")),
	}
}

func (e *Electing[M]) KillLeader() *Fault {
	return e.LoseLeader("kill", "kills "+e.Service+"'s leader", "Kills "+e.Service+"'s leader (SIGKILL).", killed[M]())
}

// MemberFaults stop a member, let it go on, kill it and start it again, unless rules of the
// service's own refuse that.
func (e *Electing[M]) MemberFaults(rules ...NodeRule) []*Fault {
	return []*Fault{
		e.Pause(e.Lose(stopped[M]())), e.Resume(e.On(resumed[M](" goes on"))),
		e.Kill(e.Lose(killed[M]())), e.Restart(e.On(restarted[M]), rules...),
	}
}

// On does something with the member that a step names.
func (e *Electing[M]) On(do doing[M]) Doing {
	return func(ctx context.Context, of Servers, story Story, step scenario.Step) error {
		q := quorumOf[M](of)
		named := slices.IndexFunc(q.Members, func(m M) bool { return m.Process().Name == step.Node })
		return do(ctx, of, story, q.Members[named])
	}
}

// Lose loses the member that a step names.
func (e *Electing[M]) Lose(by Loss[M]) Doing {
	return e.On(func(ctx context.Context, of Servers, story Story, m M) error {
		return quorumOf[M](of).lose(ctx, of, story, m, by, false)
	})
}

// LoseLeader is a fault that loses the member that leads, and is over when another one does. It is
// refused where none could follow, and where the leader is lost already.
func (e *Electing[M]) LoseLeader(verb, own, about string, by Loss[M]) *Fault {
	return &Fault{scenario.Form{
		Actor: scenario.ActorLab, Usage: verb + " leader", Target: Leader, Own: own, About: about,
		Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
			if members := s.Variant.World.Settings.Number(e.Setting); members < 3 {
				return fmt.Sprintf("%s has %d members, and nobody else could lead: it needs \"members: 3\"", e.Service, members)
			}
			for fact, is := range s.Facts {
				if is && strings.HasPrefix(fact, leaderIs) {
					return fact + " already"
				}
			}
			s.Facts[leaderIs+by.How] = true
			return ""
		},
	}, func(ctx context.Context, of Servers, story Story, _ scenario.Step) error {
		q := quorumOf[M](of)
		m, err := q.Leads(ctx)
		if err != nil {
			return err
		}
		return q.lose(ctx, of, story, m, by, true)
	}}
}

// RegainLeader is a fault that brings back a leader that was lost so.
func (e *Electing[M]) RegainLeader(verb, about, how string, do doing[M]) *Fault {
	return &Fault{scenario.Form{
		Actor: scenario.ActorLab, Usage: verb + " leader", Target: Leader, About: about,
		Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
			if !s.Facts[leaderIs+how] {
				return leaderIs + "not " + how + " here"
			}
			s.Facts[leaderIs+how] = false
			return ""
		},
	}, func(ctx context.Context, of Servers, story Story, _ scenario.Step) error {
		return do(ctx, of, story, quorumOf[M](of).led)
	}}
}

// NodesOf and Leader are those of a service.
func (e *Electing[M]) NodesOf(world setting.Values) []history.Node {
	return NodesOf(e.Name, world.Number(e.Setting), "")
}

func (e *Electing[M]) Leader(ctx context.Context, of Servers) (string, error) {
	m, err := quorumOf[M](of).Leads(ctx)
	if err != nil {
		return "", err
	}
	return m.Process().Name, nil
}

// Own says why a variant needs servers of its own; many and single are what the reasons call the members.
func (e *Electing[M]) Own(many, single string) func(setting.Values, map[string]scenario.Client) []string {
	return func(world setting.Values, clients map[string]scenario.Client) (why []string) {
		if n := world.Number(e.Setting); n != 1 {
			why = append(why, fmt.Sprintf("wants %d %s", n, many))
		}
		for _, c := range clients {
			if c.Text(SettingMember) != MemberAny {
				return append(why, "has clients of "+single)
			}
		}
		return why
	}
}

// Bounds are BoundsBy, of members that may elect a leader anew, which gives each lease its whole time once more.
func (e *Electing[M]) Bounds(world setting.Values, clients map[string]scenario.Client) (map[string]time.Duration, time.Duration) {
	bounds, handover := BoundsBy(0)(world, clients)
	for name := range bounds {
		if world.Number(e.Setting) > 1 {
			bounds[name] += clients[name].Time(setting.TTL)
		}
	}
	return bounds, handover
}

// ClashWithin is a Clash that refuses a lock within another, of services whose locks are queues of
// what stands below their names. why says what would be, where %[2]q is the outer lock.
func ClashWithin(why string) func(lock, other string) string {
	return func(lock, other string) string {
		in, out := max(lock, other), min(lock, other)
		if !strings.HasPrefix(in, out+"/") {
			return ""
		}
		return fmt.Sprintf("the lock %q lies within %q, and "+why+": want names of which none goes on from another with a /", in, out)
	}
}
