package verdict_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
	"github.com/fencelab/fencelab/pkg/fence"
)

// story is a hand-written history: a line an event, in short.
//
//	grant T by C [N]      tenure T of client C begins, with token N
//	share T by C [N]      the same, of a shared tenure
//	queue T by C          C stands in the queue for it
//	end T [CAUSE]         it ends
//	told C T [N]          C is told that it has the lock, in tenure T with token N
//	gotit C T             the same, of an attempt that does not wait
//	version 2             the history is of that version; else it is of version 1
//	grant T by C [N] of L    of the lock L; so have all lines of tenures at their end
//	C: write k=v #r (T) [S]  client C sends request r under tenure T ("-": none), with sequence number S
//	C: write k=v #r (T) [S] again #q          which is a further attempt at q
//	C: write k=v #r (T) [S] part #q k=v,m=w   which is a part of the change that begins with q
//	C: change k=v,m=w #r (T)
//	C: delete k #r (T)
//	C: read k #r (T)
//	applied #r            the storage does it; a read finds what was written last,
//	applied #r k=v        or what is said here ("k=" with nothing: no value)
//	half #r               it does the first part of it
//	duplicate #r          it says that it was done before
//	unanswered #r         it gives no answer
//	refused #r why [N M]  it refuses it, which showed token N (default 1), by the mark M
//	ok #r, fail #r, unknown #r  the client is told
//	try C, notry C        C tries to take the lock without waiting; it fails
//	nolock C [REASON]     C's lock command fails
//	lock C                C asks for the lock, and waits
//	restart [LANE]        the storage is started again, or who is named
//	pause LANE, resume LANE, kill LANE, network LANE CAUSE
//	bound C TIME, handover TIME   what the lock service promises
//	starved LANE TIME     the machine gave it no processor for so long
//	awaited T             the story waits for the end of tenure T
//	after TIME            what follows is so much later
//	over [LANE]           the run is over, as gcsim says, or who is named
//	final k=v             at the end
func story(t *testing.T, expect history.Expect, text string) []history.Event {
	t.Helper()
	s := teller{t: t, now: time.Second, asked: make(map[string]history.Event), data: make(map[string]string)}
	s.tell(history.Event{Lane: history.LaneLab, Kind: history.KindRun, Run: &history.Run{Expect: expect}})
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		s.lock = "/lock"
		if of := strings.Split(line, " of "); len(of) == 2 {
			line, s.lock = of[0], of[1]
		}
		s.line(strings.Fields(line))
	}
	return s.events
}

type teller struct {
	t      *testing.T
	events []history.Event
	asked  map[string]history.Event // request → its invoke
	data   map[string]string
	lock   string // of the line
	now    time.Duration
}

func (s *teller) tell(e history.Event) {
	if e.Kind != history.KindRun {
		e.At, e.Scope = s.now, s.lock
	}
	s.events = append(s.events, e)
}

func (s *teller) line(word []string) {
	client := func(kind history.Kind, op, client string) history.Event {
		return history.Event{Lane: client, Client: client, Kind: kind, Op: op}
	}
	switch word[0] {
	case "version":
		s.events[0].Run.Version = int(s.number(word, 1, 0))
	case "grant", "share":
		e := history.Event{Lane: "etcd", Kind: history.KindGranted, Tenure: word[1], Client: word[3], Token: s.number(word, 4, 1)}
		if word[0] == "share" {
			e.Mode = fence.Shared
		}
		s.tell(e)
	case "queue":
		s.tell(history.Event{Lane: "etcd", Kind: history.KindQueued, Tenure: word[1], Client: word[3]})
	case "end":
		e := history.Event{Lane: "etcd", Kind: history.KindEnded, Tenure: word[1]}
		if len(word) > 2 {
			e.Cause = word[2]
		}
		s.tell(e)
	case "told":
		e := client(history.KindOK, history.OpLock, word[1])
		e.Tenure, e.Token = word[2], s.number(word, 3, 1)
		s.tell(e)
	case "gotit":
		e := client(history.KindOK, history.OpTryLock, word[1])
		e.Tenure = word[2]
		s.tell(e)
	case "try":
		s.tell(client(history.KindInvoke, history.OpTryLock, word[1]))
	case "notry":
		s.tell(client(history.KindFail, history.OpTryLock, word[1]))
	case "nolock":
		e := client(history.KindFail, history.OpLock, word[1])
		if len(word) > 2 {
			e.Reason = word[2]
		}
		s.tell(e)
	case "lock":
		s.tell(client(history.KindInvoke, history.OpLock, word[1]))
	case "restart", "pause", "resume", "kill", "network":
		word = append(word, history.LaneStorage, "")
		s.tell(history.Event{Lane: word[1], Kind: history.Kind(word[0]), Cause: word[2]})
	case "bound":
		if s.run().Bounds == nil {
			s.run().Bounds = make(map[string]time.Duration)
		}
		s.run().Bounds[word[1]] = s.duration(word[2])
	case "handover":
		s.run().Handover = s.duration(word[1])
	case "starved":
		s.tell(history.Event{Lane: word[1], Kind: history.KindStarved, Took: s.duration(word[2])})
	case "awaited":
		s.tell(history.Event{Lane: history.LaneLab, Kind: history.KindAwaited, Tenure: word[1]})
	case "after":
		s.now += s.duration(word[1])
	case "over":
		word = append(word, history.LaneLab)
		s.tell(history.Event{Lane: word[1], Kind: history.KindEnd})
	case "applied":
		s.applied(word)
	case "half":
		s.tell(s.byStorage(word[1], history.KindApplied)[0])
	case "duplicate", "unanswered":
		for _, e := range s.byStorage(word[1], history.Kind(word[0])) {
			s.tell(e)
		}
	case "refused":
		for _, e := range s.byStorage(word[1], history.KindRefused) {
			e.Reason, e.Token, e.Mark = word[2], s.number(word, 3, 1), s.number(word, 4, 0)
			s.tell(e)
		}
	case "ok", "fail", "unknown":
		e := s.asked[word[1]]
		e.Kind = history.Kind(word[0])
		s.tell(e)
	case "final":
		e := history.Event{Lane: history.LaneStorage, Kind: history.KindFinal}
		e.Key, e.Value, _ = strings.Cut(word[1], "=")
		e.Missing = e.Value == ""
		s.tell(e)
	default:
		s.ask(client(history.KindInvoke, word[1], strings.TrimSuffix(word[0], ":")), word)
	}
}

func (s *teller) run() *history.Run { return s.events[0].Run }

func (s *teller) duration(word string) time.Duration {
	d, err := time.ParseDuration(word)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *teller) number(word []string, i int, otherwise fence.Token) fence.Token {
	if i >= len(word) {
		return otherwise
	}
	n, err := strconv.ParseInt(word[i], 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return fence.Token(n)
}

func (s *teller) ask(e history.Event, word []string) {
	if e.Op == history.OpChange {
		e.Changes = changes(word[2])
	} else {
		e.Key, e.Value, _ = strings.Cut(word[2], "=")
	}
	e.Request, e.Tenure = word[3], strings.Trim(word[4], "()-")
	for rest := word[5:]; len(rest) > 0; {
		switch rest[0] {
		case "again":
			e.RetryOf, rest = rest[1], rest[2:]
		case "part":
			e.PartOf, e.Changes, rest = rest[1], changes(rest[2]), rest[3:]
		default:
			e.Sequence, rest = int64(s.number(rest, 0, 0)), rest[1:]
		}
	}
	s.asked[e.Request] = e
	s.tell(e)
}

func changes(list string) (all []history.Change) {
	for _, pair := range strings.Split(list, ",") {
		key, value, _ := strings.Cut(pair, "=")
		all = append(all, history.Change{Key: key, Value: value})
	}
	return all
}

// byStorage is a request as the storage tells of it: it knows of no tenure, and
// of a change of several keys it tells as of so many writes.
func (s *teller) byStorage(request string, kind history.Kind) []history.Event {
	e := s.asked[request]
	e.Lane, e.Kind, e.Tenure, e.Client, e.Changes = history.LaneStorage, kind, "", "", nil
	if e.Op != history.OpChange {
		return []history.Event{e}
	}
	var list []history.Event
	for _, c := range s.asked[request].Changes {
		e.Op, e.Key, e.Value = history.OpWrite, c.Key, c.Value
		list = append(list, e)
	}
	return list
}

func (s *teller) applied(word []string) {
	for _, e := range s.byStorage(word[1], history.KindApplied) {
		switch e.Op {
		case history.OpWrite:
			s.data[e.Key] = e.Value
		case history.OpDelete:
			delete(s.data, e.Key)
		default:
			e.Value = s.data[e.Key]
			if len(word) == 3 {
				_, e.Value, _ = strings.Cut(word[2], "=")
			}
			e.Missing = e.Value == ""
		}
		s.tell(e)
	}
}

// judged is a story, its verdict, and what is said of its violations: one of says
// for each, to be found in its text.
type judged struct {
	name, story, want string
	says              []string
}

func (j judged) test(t *testing.T, together ...[]string) {
	t.Helper()
	events := story(t, history.Expect{Verdict: j.want}, j.story)
	events[0].Run.Together = together
	v := verdict.Judge(events)
	if v.Name != j.want || !v.OK() {
		t.Errorf("verdict %s, mismatches %q, want %s; violations %+v", v.Name, v.Mismatches, j.want, v.Violations)
	}
	if len(v.Violations) != len(j.says) {
		t.Fatalf("violations %+v, want %q", v.Violations, j.says)
	}
	for i, violation := range v.Violations {
		if !strings.Contains(violation.Text, j.says[i]) {
			t.Errorf("violation %q, want %q", violation.Text, j.says[i])
		}
	}
}
