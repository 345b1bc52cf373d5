package judge_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/internal/judge/lockmodel"
	"github.com/fencelab/fencelab/pkg/fence"
)

// toldTTL is the lease that clients are promised, in ticks.
const toldTTL = 100

// lockService is one in memory, with a hole.
type lockService struct {
	hole   string
	rand   *rand.Rand
	token  int64
	owners map[string]string // node → who has the lock
	until  map[string]int    // node → when the lease is over
	since  map[string]int    // node → when the lease began
}

func (s *lockService) node(client string) string {
	if s.hole == "two nodes know nothing of each other" && client == "c" {
		return "2"
	}
	return "1"
}

func (s *lockService) lock(client string, now int) (fence.Token, bool) {
	node := s.node(client)
	free := s.owners[node] == "" || now >= s.until[node]
	free = free || s.hole == "it asks nobody" || s.hole == "check and set are two steps" && now < s.since[node]+15
	free = free || s.hole == "its clock jumps" && now > 2000 && now < 2100
	if !free {
		return 0, false
	}
	lease := toldTTL
	if s.hole == "the lease is shorter than it says" {
		lease = toldTTL / 2
	}
	s.owners[node], s.until[node], s.since[node] = client, now+lease, now
	switch s.hole {
	case "all grants have one number":
		s.token = 1
	case "numbers are random":
		s.token = 1 + s.rand.Int64N(1<<30)
	default:
		s.token++
	}
	return fence.Token(s.token), true
}

func (s *lockService) unlock(client string) bool {
	node := s.node(client)
	if s.owners[node] != client && s.hole != anybody {
		return false
	}
	s.owners[node] = ""
	return true
}

func (s *lockService) renew(client string, now int) bool {
	node := s.node(client)
	switch {
	case s.hole == "renewals always succeed":
		return true
	case s.owners[node] != client || now >= s.until[node]:
		return false
	case s.hole != "renewals renew nothing":
		s.until[node] = now + toldTTL
	}
	return true
}

func (s *lockService) restart(now int) {
	if now%700 != 0 {
		return
	}
	switch s.hole {
	case "a restart forgets the lock":
		clear(s.owners)
	case "a restart forgets the number":
		s.token = 0
	}
}

// accountsOf are those of three clients, which ask, hold, renew, stand still and let go, each on a network of its own.
func accountsOf(hole string, seed uint64) []history.Event {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &lockService{hole: hole, rand: r, owners: make(map[string]string), until: make(map[string]int), since: make(map[string]int)}
	events := []history.Event{{Lane: history.LaneLab, Kind: history.KindRun, Run: &history.Run{
		Version: history.Version, Scenario: "s", Service: "locks", Lanes: []string{"locks", "a", "b", "c"},
		Tokens: map[string]string{"a": history.ShowsGrant, "b": history.ShowsGrant, "c": history.ShowsGrant},
	}}}
	type client struct {
		name    string
		tenure  string
		grants  int
		doing   string
		arrives int
		answer  history.Event
		ready   int
	}
	clients := []*client{{name: "a"}, {name: "b"}, {name: "c"}}
	for now := range 4000 {
		s.restart(now)
		for _, c := range clients {
			tell := func(e history.Event) {
				e.At, e.Lane, e.Scope = time.Duration(now), c.name, "l"
				events = append(events, e)
			}
			switch {
			case c.doing != "" && now == c.arrives:
				c.answer = history.Event{Kind: history.KindFail, Op: c.doing, Tenure: c.tenure}
				switch c.doing {
				case history.OpLock:
					token, ok := s.lock(c.name, now)
					if !ok {
						c.arrives++ // it waits
						continue
					}
					c.grants++
					c.answer = history.Event{Kind: history.KindOK, Op: c.doing, Tenure: fmt.Sprint(c.name, c.grants), Token: token}
				case history.OpUnlock:
					if s.unlock(c.name) {
						c.answer.Kind = history.KindOK
					}
				case history.OpRenew:
					if s.renew(c.name, now) {
						c.answer.Kind = history.KindOK
					}
				}
				c.ready = now + 1 + r.IntN(5)
			case c.doing != "" && c.arrives < now && now == c.ready:
				if r.IntN(20) == 0 && c.doing != history.OpLock {
					c.answer.Kind = history.KindUnknown
				}
				tell(c.answer)
				switch {
				case c.doing == history.OpLock:
					c.tenure = c.answer.Tenure
				case c.doing == history.OpUnlock, c.answer.Kind == history.KindFail:
					c.tenure = ""
				}
				c.doing = ""
			case c.doing != "" || r.IntN(40) != 0:
			default:
				c.doing = history.OpLock
				if c.tenure != "" {
					c.doing = []string{history.OpUnlock, history.OpRenew}[r.IntN(2)]
				}
				tell(history.Event{Kind: history.KindInvoke, Op: c.doing, Tenure: c.tenure})
				c.arrives = now + 1 + r.IntN(5)
			}
		}
	}
	return append(events, history.Event{At: 4000, Lane: history.LaneLab, Kind: history.KindEnd})
}

// anybody is the hole of a service that does not look whose hold an unlock ends.
const anybody = "anybody unlocks"

// TestBrokenLockServices: from the clients' accounts alone each hole of a lock service is found, and a service without one is
// not accused. Where an unlock can have ended another client's hold, that is said, and nothing else.
func TestBrokenLockServices(t *testing.T) {
	for hole, law := range map[string]string{
		"":                                     "",
		"it asks nobody":                       "exclusive",
		"check and set are two steps":          "exclusive",
		"two nodes know nothing of each other": "exclusive",
		"the lease is shorter than it says":    "exclusive",
		"its clock jumps":                      "exclusive",
		anybody:                                "an unlock",
		"renewals always succeed":              "exclusive",
		"renewals renew nothing":               "exclusive",
		"a restart forgets the lock":           "exclusive",
		"a restart forgets the number":         "ordered",
		"all grants have one number":           "ordered",
		"numbers are random":                   "ordered",
	} {
		t.Run(hole, func(t *testing.T) {
			t.Parallel()
			found := make(map[string]int)
			for seed := range uint64(20) {
				j, err := judge.ByClients(accountsOf(hole, seed), judge.Clocks{TTL: toldTTL})
				if err != nil {
					t.Fatal(err)
				}
				named := strings.Contains(strings.Join(j.Clients.Reasons, "\n"), "depends on whether an unlock ended another client's tenure: ")
				if named != j.Clients.Stray {
					t.Errorf("seed %d: an unlock is to blame: %v, and %v", seed, j.Clients.Stray, j.Clients.Reasons)
				}
				switch {
				case j.Clients.Ordered == lockmodel.Undecided, j.Clients.Exclusive == lockmodel.Undecided && (!named || hole == ""):
					t.Errorf("seed %d: %v", seed, j.Clients.Reasons)
				case hole == anybody && j.Clients.Exclusive == lockmodel.No:
					t.Errorf("seed %d: an unlock explains it: %v", seed, j.Clients.Reasons)
				}
				for what, is := range map[string]bool{
					"an unlock": named, "exclusive": j.Clients.Exclusive == lockmodel.No, "ordered": j.Clients.Ordered == lockmodel.No,
				} {
					if is {
						found[what]++
					}
				}
			}
			switch {
			case hole == "" && len(found) > 0:
				t.Errorf("nothing is wrong, and found was %v", found)
			case hole != "" && found[law] < 5: // of 20; the other ones an unlock can explain
				t.Errorf("%s was found by %d seeds", law, found[law])
			}
		})
	}
}
