package lockmodel_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fencelab/fencelab/internal/judge/lockmodel"
)

func hold(client, name string, token, asked, told, over int64) lockmodel.Hold {
	return lockmodel.Hold{Client: client, Name: name, Token: token, Asked: asked, Told: told, Over: over}
}

func shared(h lockmodel.Hold) lockmodel.Hold {
	h.Shared = true
	return h
}

// TestLaws: of each law what keeps it, what breaks it, and by which holds that can be seen.
func TestLaws(t *testing.T) {
	a, b := hold("a", "a1", 5, 0, 2, 10), hold("b", "b1", 7, 11, 12, 20)
	for _, tt := range []struct {
		name    string
		law     lockmodel.Law
		skew    time.Duration
		holds   []lockmodel.Hold
		want    lockmodel.Answer
		because []string
	}{
		{"one after the other", lockmodel.Exclusive, 0, []lockmodel.Hold{a, b}, lockmodel.Yes, nil},
		{"told while another one holds", lockmodel.Exclusive, 0, []lockmodel.Hold{a, hold("b", "b1", 7, 3, 9, 20)}, lockmodel.No, []string{"a1", "b1"}},
		{"asked while another one holds, told later", lockmodel.Exclusive, 0, []lockmodel.Hold{a, hold("b", "b1", 7, 3, 11, 20)}, lockmodel.Yes, nil},
		{"an answer that comes after the lease is over", lockmodel.Exclusive, 0, []lockmodel.Hold{hold("a", "a1", 5, 0, 15, 10), hold("b", "b1", 7, 11, 12, 20)}, lockmodel.Yes, nil},
		{"within the skew", lockmodel.Exclusive, 2, []lockmodel.Hold{a, hold("b", "b1", 7, 3, 9, 20)}, lockmodel.Yes, nil},
		{"beyond the skew", lockmodel.Exclusive, 2, []lockmodel.Hold{a, hold("b", "b1", 7, 3, 7, 20)}, lockmodel.No, []string{"a1", "b1"}},
		{"one clock", lockmodel.Exclusive, 1 << 60, []lockmodel.Hold{a, hold("a", "a2", 7, 3, 9, 20)}, lockmodel.No, []string{"a1", "a2"}},
		{"clocks that nobody knows", lockmodel.Exclusive, -1, []lockmodel.Hold{a, hold("b", "b1", 7, 3, 7, lockmodel.Never)}, lockmodel.Yes, nil},
		{"two that nothing ends, whatever the clocks", lockmodel.Exclusive, -1, []lockmodel.Hold{hold("a", "a1", 7, 3, 7, lockmodel.Never), b, hold("c", "c1", 7, 3, 7, lockmodel.Never)}, lockmodel.No, []string{"a1", "c1"}},
		{"one clock, and others that nobody knows", lockmodel.Exclusive, -1, []lockmodel.Hold{a, hold("a", "a2", 7, 3, 9, 20), b}, lockmodel.No, []string{"a1", "a2"}},
		{"two readers", lockmodel.Exclusive, 0, []lockmodel.Hold{shared(a), shared(hold("b", "b1", 7, 3, 5, 20))}, lockmodel.Yes, nil},
		{"a reader and a writer", lockmodel.Exclusive, 0, []lockmodel.Hold{shared(a), hold("b", "b1", 7, 3, 5, 20)}, lockmodel.No, []string{"a1", "b1"}},
		{"a shared session", lockmodel.Exclusive, 0, []lockmodel.Hold{a, hold("b", "a1", 5, 3, 5, 10)}, lockmodel.Yes, nil},
		{
			"the smallest explanation", lockmodel.Exclusive, 0,
			[]lockmodel.Hold{a, b, hold("c", "c1", 9, 21, 22, 30), hold("d", "d1", 11, 23, 25, 26), hold("a", "a2", 13, 31, 32, 33)},
			lockmodel.No,
			[]string{"c1", "d1"},
		},
		{
			"three, of which no two break it", lockmodel.Exclusive, 0,
			[]lockmodel.Hold{hold("a", "a1", 5, 0, 10, 6), hold("b", "b1", 7, 4, 6, 12), hold("c", "c1", 9, 4, 6, 12)},
			lockmodel.No,
			[]string{"b1", "c1"},
		},
		{"tokens that grow", lockmodel.Ordered, 0, []lockmodel.Hold{a, b}, lockmodel.Yes, nil},
		{"a token that falls", lockmodel.Ordered, 0, []lockmodel.Hold{a, hold("b", "b1", 4, 11, 12, 20)}, lockmodel.No, []string{"a1", "b1"}},
		{"side by side, in either order", lockmodel.Ordered, 0, []lockmodel.Hold{a, hold("b", "b1", 4, 1, 2, 20)}, lockmodel.Yes, nil},
		{"a token twice, whatever the clocks", lockmodel.Ordered, 1 << 60, []lockmodel.Hold{a, hold("b", "b1", 5, 11, 12, 20)}, lockmodel.No, []string{"a1", "b1"}},
		{"a token twice, and clocks that nobody knows", lockmodel.Ordered, -1, []lockmodel.Hold{a, hold("b", "b1", 5, 11, 12, 20), hold("c", "c1", 4, 11, 12, 20)}, lockmodel.No, []string{"a1", "b1"}},
		{"a token twice, of one session", lockmodel.Ordered, 0, []lockmodel.Hold{a, hold("b", "a1", 5, 3, 5, 10)}, lockmodel.Yes, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, why := tt.law.Check(lockmodel.Lock{Holds: tt.holds}, tt.skew, time.Minute)
			var because []string
			for _, h := range why.Holds {
				because = append(because, h.Name)
			}
			slices.Sort(because)
			if got != tt.want || !slices.Equal(because, tt.because) {
				t.Errorf("got %s because of %v, want %s, %v", got, because, tt.want, tt.because)
			}
		})
	}
}

// TestUnlocks: an unlock can end another client's hold only if its client has none, and once.
func TestUnlocks(t *testing.T) {
	unlock := func(client string, asked, told int64) lockmodel.Unlock {
		return lockmodel.Unlock{Client: client, Asked: asked, Told: told}
	}
	failed := unlock("a", 14, 15)
	failed.Failed = true
	a, b, c := hold("a", "a1", 0, 0, 2, 10), hold("b", "b1", 0, 11, 12, 50), hold("c", "c1", 0, 16, 17, 50)
	three := []lockmodel.Hold{a, b, c}
	for name, tt := range map[string]struct {
		holds   []lockmodel.Hold
		unlocks []lockmodel.Unlock
		skew    time.Duration
		want    lockmodel.Answer
		named   int
	}{
		"none":                          {three, nil, 0, lockmodel.No, 0},
		"late":                          {three, []lockmodel.Unlock{unlock("a", 14, 15)}, 0, lockmodel.Undecided, 1},
		"late, and not needed":          {three, []lockmodel.Unlock{unlock("a", 14, 15), unlock("a", 40, 41)}, 0, lockmodel.Undecided, 1},
		"failed":                        {three, []lockmodel.Unlock{failed}, 0, lockmodel.No, 0},
		"too late":                      {three, []lockmodel.Unlock{unlock("a", 18, 19)}, 0, lockmodel.No, 0},
		"too late, by another clock":    {three, []lockmodel.Unlock{unlock("a", 18, 19)}, 2, lockmodel.Undecided, 1},
		"of the client's own hold":      {[]lockmodel.Hold{hold("a", "a1", 0, 0, 2, 30), b}, []lockmodel.Unlock{unlock("a", 5, 20)}, 0, lockmodel.Yes, 0},
		"of its own hold, and no other": {[]lockmodel.Hold{hold("a", "a1", 0, 0, 2, 30), b, c}, []lockmodel.Unlock{unlock("a", 5, 20)}, 0, lockmodel.No, 0},
		"of a reader's own hold":        {[]lockmodel.Hold{shared(hold("a", "a1", 0, 0, 2, 60)), shared(hold("b", "b1", 0, 0, 2, 60)), c}, []lockmodel.Unlock{unlock("a", 5, 6)}, 0, lockmodel.No, 0},
		"one for two":                   {[]lockmodel.Hold{a, b, c, hold("d", "d1", 0, 20, 21, 50)}, []lockmodel.Unlock{unlock("a", 14, 30)}, 0, lockmodel.No, 0},
		"one after the other":           {[]lockmodel.Hold{a, b, c, hold("d", "d1", 0, 20, 21, 50)}, []lockmodel.Unlock{unlock("a", 14, 15), unlock("b", 18, 19)}, 0, lockmodel.Undecided, 2},
	} {
		t.Run(name, func(t *testing.T) {
			got, because := lockmodel.Exclusive.Check(lockmodel.Lock{Holds: tt.holds, Unlocks: tt.unlocks}, tt.skew, time.Minute)
			if got != tt.want || len(because.Unlocks) != tt.named {
				t.Errorf("got %s because of %v, want %s by %d unlocks", got, because, tt.want, tt.named)
			}
		})
	}
}

// TestUnknownClocks: where nothing is known of clocks, only some holds are looked at together. The answer is that for all
// holds, whose clocks differ by more than there is time.
func TestUnknownClocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var of lockmodel.Lock
		client := rapid.SampledFrom([]string{"a", "b", "c"})
		for i := range rapid.IntRange(1, 5).Draw(t, "holds") {
			at := rapid.Int64Range(0, 40).Draw(t, "asked")
			h := hold(client.Draw(t, "client"), fmt.Sprint("h", i), rapid.Int64Range(0, 4).Draw(t, "token"), at, at+1, at+rapid.Int64Range(1, 9).Draw(t, "lasts"))
			if h.Shared = rapid.Bool().Draw(t, "shared"); rapid.Bool().Draw(t, "for ever") {
				h.Over = lockmodel.Never
			}
			of.Holds = append(of.Holds, h)
		}
		for range rapid.IntRange(0, 3).Draw(t, "unlocks") {
			at := rapid.Int64Range(0, 40).Draw(t, "unlocked")
			of.Unlocks = append(of.Unlocks, lockmodel.Unlock{Client: client.Draw(t, "by"), Asked: at, Told: at + 1, Failed: rapid.Bool().Draw(t, "failed")})
		}
		for name, law := range map[string]lockmodel.Law{"exclusive": lockmodel.Exclusive, "ordered": lockmodel.Ordered} {
			got, _ := law.Check(of, -1, time.Minute)
			if want, _ := law.Check(of, lockmodel.Never/2, time.Minute); got != want {
				t.Fatalf("%s: got %s, want %s for %+v", name, got, want, of)
			}
		}
	})
}

// TestManyHolds: a long history takes little time, and one hold that breaks it is found.
func TestManyHolds(t *testing.T) {
	var holds []lockmodel.Hold
	for i := range int64(2000) {
		client := string(rune('a' + i%7))
		holds = append(holds, hold(client, client+time.Duration(i).String(), i+1, 10*i-30, 10*i+2, 10*i+9)) // each waits for three others
	}
	began := time.Now()
	if got, _ := lockmodel.Exclusive.Check(lockmodel.Lock{Holds: holds}, 0, time.Minute); got != lockmodel.Yes {
		t.Fatalf("got %s", got)
	}
	holds[1000].Told -= 5
	if got, because := lockmodel.Exclusive.Check(lockmodel.Lock{Holds: holds}, 0, time.Minute); got != lockmodel.No || len(because.Holds) != 2 {
		t.Errorf("got %s because of %v", got, because)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
