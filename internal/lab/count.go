package lab

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

var countAct = action{
	Form: scenario.Form{Actor: scenario.ActorClients, Usage: "count KEY TIMES", Target: scenario.ActorClients, Check: checkCount,
		About: "All clients at once: each increments the key so many times, with a lock, a read, a write and an unlock each time."},
	do: (*run).count,
}

func checkCount(s *scenario.Story, _ *scenario.ClientStory, step scenario.Step) string {
	if s.StorageDead {
		return "all clients count, but the storage is dead: it needs a step \"gcsim: restart storage\" before"
	}
	for _, name := range s.Names {
		c := s.Clients[name]
		switch {
		case c.Stopped != "":
			return fmt.Sprintf("all clients count, but %s cannot (%s)", name, c.Stopped)
		case len(c.Queued) > 0 || c.Begun:
			return fmt.Sprintf("all clients count, but %s is in the middle of something else", name)
		case s.LacksSession(name) != "":
			return fmt.Sprintf("all clients count, but %s shares the session of %s, which has none yet", name, s.LacksSession(name))
		}
	}
	for name, c := range s.Clients {
		c.Ask(s.Variant.Clients[name].Lock)
	}
	s.Counts = true
	s.Increments(step.Key, step.Times*len(s.Names))
	return ""
}

// victim is a client that is stopped between its look and its write.
type victim struct {
	client string
	tenure string
	wrote  int // writes that the storage had applied when its lease was over; -1: it is not over yet
}

// count has all clients count, and stops whom chance chose until a successor has written, or none is left.
func (r *run) count(ctx context.Context, s scenario.Step) error {
	halts := r.draw(s.Times)
	stood, counted := make(map[string]int), make(map[string]int)
	for _, client := range r.scenario.Clients {
		c := r.state.client(client)
		stood[client], counted[client] = c.stands, c.counted
		line := fmt.Sprintf("%s %s %d", s.Verb, s.Key, s.Times)
		if len(halts[client]) > 0 {
			line += " " + strings.Join(halts[client], ",")
		}
		if err := r.command(client, line); err != nil {
			return err
		}
	}
	var victims []*victim
	return r.await(ctx, "the end of all counts", r.countDeadline(s.Times), func() (bool, error) {
		over, left := true, 0
		for _, client := range r.scenario.Clients {
			c := r.state.client(client)
			if c.counted == counted[client] {
				over, left = false, left+1
			}
			if c.stands > stood[client] {
				stood[client] = c.stands
				if err := r.pause(ctx, client, 0); err != nil {
					return false, err
				}
				victims = append(victims, &victim{client, c.claim(r.ownLock(client)).tenure, -1})
			}
		}
		var err error
		alone := left == len(victims) // who has not counted is stopped
		victims = slices.DeleteFunc(victims, func(v *victim) bool {
			if err != nil || !r.overtaken(v) && !alone {
				return false
			}
			if err = r.resume(v.client); err == nil {
				err = r.command(v.client, string(scenario.Finish))
			}
			return true
		})
		return over && len(victims) == 0 && r.state.accounted(), err
	})
}

// incrementDeadline is how long one increment may take, without what its client waits after each grant.
const incrementDeadline = 500 * time.Millisecond

func (r *run) countDeadline(times int) time.Duration {
	each := time.Duration(0) // of all clients
	for _, c := range r.variant.Clients {
		each += incrementDeadline + c.Time(setting.Delay)
	}
	return loadDeadline + time.Duration(times)*each
}

func (r *run) overtaken(v *victim) bool {
	if v.wrote < 0 && r.state.ledger.Tenure(v.tenure).Ended.Came() {
		v.wrote = r.state.writes
	}
	return v.wrote >= 0 && r.state.writes > v.wrote
}

// draw chooses, by the seed, who is stopped at which increment: in the first half, so that others follow.
func (r *run) draw(times int) map[string][]string {
	chance := rand.New(rand.NewPCG(r.Seed, 0))
	type choice struct {
		client string
		nth    int
	}
	var all []choice
	for _, client := range r.scenario.Clients {
		for nth := 1; nth <= max(1, times/2); nth++ {
			all = append(all, choice{client, nth})
		}
	}
	chance.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	chosen := all[:min(r.variant.World.Pauses, len(all))]
	slices.SortFunc(chosen, func(a, b choice) int { return a.nth - b.nth })
	halts := make(map[string][]string)
	for _, c := range chosen {
		halts[c.client] = append(halts[c.client], strconv.Itoa(c.nth))
		r.note(c.client, "seed %d chooses %s to be stopped at its increment %d", r.Seed, c.client, c.nth)
	}
	return halts
}
