package hazelcast

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// account is the lock service's own account of tenures: what the members tell of each lock
// while they apply the log of its CP group. No client has a part in it. All members tell the
// same of a lock, in the same order, so what one of them has told is nothing new from another.
type account struct {
	stage service.Stage
	locks []string

	mu   sync.Mutex
	told map[key][]change
	gone map[string]bool // clusters whose members have all ended
	last time.Duration   // the time of what was told last
}

type key struct{ cluster, lock string }

type change struct {
	kind  history.Kind
	fence fence.Token
}

func newAccount(stage service.Stage) *account {
	return &account{stage: stage, locks: stage.Plan().Locks, told: make(map[key][]change), gone: make(map[string]bool)}
}

// of returns what takes in the lines of a member of a cluster, from its first one.
func (a *account) of(cluster string) func(line string) error {
	place := make(map[string]int) // of the next line about a lock
	return func(line string) error {
		var (
			c    change
			at   time.Duration
			lock string
		)
		if _, err := fmt.Sscanf(line, "%s %d %s %d", &c.kind, &at, &lock, &c.fence); err != nil {
			return fmt.Errorf("it says %q: %w", line, err)
		}
		if !slices.Contains(a.locks, lock) {
			return nil
		}
		place[lock]++
		return a.see(key{cluster, lock}, place[lock]-1, at, c)
	}
}

// see takes in the line about a lock at a place.
func (a *account) see(of key, place int, at time.Duration, c change) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if told := a.told[of]; place < len(told) {
		if told[place] != c {
			return fmt.Errorf("of %s it tells as number %d that %v, and another member that %v", of.lock, place+1, c, told[place])
		}
		return nil
	}
	if a.gone[of.cluster] {
		return nil // it was to be told before
	}
	a.told[of] = append(a.told[of], c)
	a.tell(of, at, c, "")
	return nil
}

// forget takes in that all members have ended: what they knew of is over.
func (a *account) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for of, told := range a.told {
		if last := told[len(told)-1]; !a.gone[of.cluster] && last.kind == history.KindGranted {
			a.tell(of, time.Duration(time.Now().UnixNano()), change{history.KindEnded, last.fence}, "all members that knew of it have ended")
		}
	}
	for of := range a.told {
		a.gone[of.cluster] = true
	}
}

// tell tells of a change. why says why a tenure has ended that nobody let go of.
func (a *account) tell(of key, at time.Duration, c change, why string) {
	a.last = max(a.last, at)
	e := history.Event{At: a.last, Lane: Name, Kind: c.kind, Scope: of.lock, Tenure: fmt.Sprintf("%s-%d", of.cluster, c.fence), Text: why}
	if c.kind == history.KindGranted {
		e.Token = c.fence
	}
	if why != "" {
		e.Cause = history.CauseRevoked
	}
	a.stage.Tell(e)
}

// followAgain is the pause before a member is asked again that does not tell.
const followAgain = 50 * time.Millisecond

// stream is what a member tells, from the beginning of its log.
type stream struct {
	conn    net.Conn
	lines   *bufio.Scanner
	member  string // the address at which it serves
	cluster string // what it calls the cluster
}

func listen(ctx context.Context, addr string) (*stream, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	s := &stream{conn: conn, lines: bufio.NewScanner(conn)}
	if !s.lines.Scan() {
		conn.Close()
		return nil, fmt.Errorf("the member at %s tells nothing: %w", addr, s.lines.Err())
	}
	if _, err := fmt.Sscanf(s.lines.Text(), "member %s %s", &s.member, &s.cluster); err != nil {
		conn.Close()
		return nil, fmt.Errorf("the member at %s says %q: %w", addr, s.lines.Text(), err)
	}
	return s, nil
}

// follow takes in what a member tells until ctx is done, also after its stream has ended.
func (s *servers) follow(ctx context.Context, addr string, from *stream) {
	for ctx.Err() == nil {
		if from != nil {
			if err := from.each(ctx, s.account.of(from.cluster)); err != nil {
				s.stage.Fail(nil, fmt.Errorf("observer: %s: %w", addr, err))
			}
		}
		if !sleep.For(ctx, followAgain) {
			return
		}
		from, _ = listen(ctx, addr) // without an answer it is asked again
	}
}

// each hands over each line, until the stream ends, or until one is refused.
func (s *stream) each(ctx context.Context, see func(line string) error) error {
	defer context.AfterFunc(ctx, func() { s.conn.Close() })()
	defer s.conn.Close()
	for s.lines.Scan() {
		if err := see(s.lines.Text()); err != nil {
			return err
		}
	}
	return nil
}
