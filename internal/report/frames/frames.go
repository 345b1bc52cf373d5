// Package frames turns a history into what a stage shows: for each row of the story how all actors are after it.
// It is pure, and knows only the events, the ledger's fold of them, and the rows that all pictures share.
package frames

import (
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
)

// Frame is how all actors are after a row of the story, and what passes between them in that row. Times are
// milliseconds since the run began.
type Frame struct {
	At       int64      `json:"at"`
	Text     string     `json:"text"` // the row in words; "" before the first row
	Tone     story.Tone `json:"tone"`
	Harm     bool       `json:"harm"`
	Skips    bool       `json:"skips"` // the row's token leaves out numbers after the one before
	Service  Service    `json:"service"`
	Clients  []Client   `json:"clients"`
	Storage  Storage    `json:"storage"`
	Messages []Message  `json:"messages"` // those under way, and last that of the row
	Moves    bool       `json:"moves"`    // the last message is the row's; else it shows what went wrong before
}

type Service struct {
	Name  string         `json:"name"`
	State string         `json:"state"` // running, paused or dead, here and below
	Nodes []history.Node `json:"nodes"` // empty: there is one
	Note  string         `json:"note"`  // the last remark about them; "": there is none
	Locks []Lock         `json:"locks"`
}

type Lock struct {
	Name    string   `json:"name"`
	Holders []Holder `json:"holders"`
	Queue   []string `json:"queue"` // the clients that wait, the earliest first
}

type Holder struct {
	Client string `json:"client"`
	Tenure int    `json:"tenure"` // which grant of all it is, from 1
	Token  string `json:"token"`  // in decimal; "": there is none
}

type Client struct {
	Name     string   `json:"name"`
	State    string   `json:"state"`
	Network  []string `json:"network"`  // the faults of its network, causes of history.KindNetwork, the earliest first
	Holds    int      `json:"holds"`    // its tenure by the lock service's account, the last of several; 0: none
	Believes int      `json:"believes"` // the tenure that it takes for its own; 0: none
	Ended    string   `json:"ended"`    // why that tenure is over, a cause of history.KindEnded; "": it is not
	Token    string   `json:"token"`    // of the tenure that it believes to have, or else has
	Waits    bool     `json:"waits"`    // for the answer to what it asked for a lock
	Harm     string   `json:"harm"`     // Did or Suffered, whichever the story told last; "": neither so far
	Note     string   `json:"note"`     // what it said since its last request, like what it is about to do
	TTL      int64    `json:"ttl"`      // of its lease; 0: unknown
	Still    *int64   `json:"still"`    // since when it cannot renew its lease; nil: it can
}

// What harm is to a Client.
const (
	Did      = "did"      // its work did harm to another one's
	Suffered = "suffered" // harm was done to its work, or to its wait for a free lock
)

type Storage struct {
	State   string  `json:"state"`
	Checks  bool    `json:"checks"`  // tokens
	Refused int     `json:"refused"` // requests so far
	Values  []Value `json:"values"`
	Marks   []Mark  `json:"marks"`
}

type Value struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Client string `json:"client"` // that wrote it; "": it was found at the end
	Tenure int    `json:"tenure"` // in which it was written; 0: unknown
	Lost   *Value `json:"lost"`   // over which it came, which must not be; nil: it came over none
}

type Mark struct {
	Lock string `json:"lock"`
	Mark string `json:"mark"` // in decimal
}

// The ways of a Message.
const (
	Passes  = "passes"
	Waits   = "waits"   // in the network, or for its answer
	Refused = "refused" // by the storage, rightly or not
)

type Message struct {
	From    string     `json:"from"` // an actor, by the name of its lane in a story.Row
	To      string     `json:"to"`
	Text    string     `json:"text"`
	Token   string     `json:"token"`
	Tenure  int        `json:"tenure"` // whose token it carries; 0: unknown
	Way     string     `json:"way"`
	Tone    story.Tone `json:"tone"`
	Harm    bool       `json:"harm"`
	request string
}

// Options are what events do not tell.
type Options struct {
	TTLs     map[string]time.Duration // of the clients' leases
	InMemory bool                     // the storage forgets all when it is killed
}

// Film is a history, or its beginning, as frames: one before the first row, then one for each row that pictures show.
type Film struct {
	Frames []Frame
	About  string       // what sets the variant apart
	Fate   story.Text   // what became of the work that a late request came after, or would have; nil: of none
	Why    []story.Text // what the outcome is made of
}

// Verdict is the outcome of a story as a stage says it.
type Verdict struct {
	Name  string     `json:"name"`
	SoFar bool       `json:"so_far"` // it is good, and is not the last word
	Tone  story.Tone `json:"tone"`
	Fate  string     `json:"fate"` // here and below as in Film
	Why   []string   `json:"why"`
}

// Verdict is how the film ends, by the outcome of its story.
func (f Film) Verdict(o story.Outcome) Verdict {
	v := Verdict{Name: o.Name, SoFar: o.SoFar(), Tone: o.Tone(), Fate: f.Fate.String(), Why: []string{}}
	for _, why := range f.Why {
		v.Why = append(v.Why, why.String())
	}
	return v
}

func Of(d story.Drawing, o Options) Film {
	b := story.NewBuilder()
	rows := story.Fold(b.Add(d.Events, d.Outcome.Drawn()), b.Run().Fencing)
	f := newFolder(d, b, o)
	film := Film{Frames: []Frame{f.frame(story.Row{}, until(d.Events, rows, 0))}, Fate: b.Fate(d.Outcome), Why: b.Why(d.Outcome)}
	_, film.About = story.Variant(b.Run())
	for i, r := range rows {
		film.Frames = append(film.Frames, f.frame(r, until(d.Events, rows, i+1)))
	}
	return film
}

// until is how many events a frame has that comes before the row at i: those that bring no row of their own, too, up to
// the next request, which belongs to its own row.
func until(events []history.Event, rows []story.Row, i int) int {
	if i == len(rows) {
		return len(events)
	}
	begin, end := 0, rows[i].Place
	if i > 0 {
		begin = rows[i-1].Place + 1
	}
	for n := begin; n < end; n++ {
		if events[n].Kind == history.KindInvoke {
			return n
		}
	}
	return end
}
