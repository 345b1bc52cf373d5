package laws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/fencelab/fencelab/internal/outside/program"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

const (
	protocolV1      = "/v1"
	protocolContrib = "contrib/lock"
)

// Speaks is what a storage can do, as it shows when it is asked.
type Speaks struct {
	Protocol string `json:"protocol"` // "/v1" or "contrib/lock"
	Sequence bool   `json:"sequence"` // it orders requests by Fencing-Sequence
	Shared   bool   `json:"shared"`   // it knows Fencing-Mode: shared
	Marks    bool   `json:"marks"`    // a stale refusal names the mark
	Batch    bool   `json:"batch"`    // POST /v1/batch
	// Duplicates says that the answer to what was done before has Fencing-Duplicate: true.
	Duplicates bool `json:"duplicates"`
	// Parallel says that it serves others while the body of a request is on its way.
	Parallel bool `json:"parallel"`
	Durable  bool `json:"durable"` // it keeps its data when it is killed
	Killed   bool `json:"-"`       // it was, to find that out; never a storage that is there already
}

// ByScope reports whether requests name the lock under which they are.
func (s Speaks) ByScope() bool { return s.Protocol == protocolV1 }

func (s Speaks) String() string {
	with := map[bool]string{true: ", with ", false: ", without "}
	says := "it speaks " + s.Protocol + with[s.Sequence] + "sequence numbers" + with[s.Shared] + "shared claims" +
		with[s.Marks] + "refusals that name the mark" + with[s.Batch] + "batches"
	if s.Killed {
		says += map[bool]string{true: ", and keeps", false: ", and loses"}[s.Durable] + " its data when it is killed"
	}
	return says
}

// asked is the lock, and the key, of the questions.
const asked = "asked"

func tokenOf(t fence.Token) fence.Claim { return fence.Claim{Scope: asked, Token: t} }

func (j *judge) ask(ctx context.Context) (Speaks, error) {
	v := v1{j.view()}
	notV1 := errors.New("a PUT is answered in contrib/lock's form")
	if !j.answersAsContrib(ctx) {
		notV1 = keeps(ctx, v)
	}
	if notV1 != nil {
		if notContrib := keeps(ctx, contrib{j.view()}); notContrib != nil {
			one, is := errors.AsType[*UnansweredError](notV1)
			if other, too := errors.AsType[*UnansweredError](notContrib); is && too && one.Did == other.Did {
				return Speaks{}, one
			}
			return Speaks{}, fmt.Errorf("it speaks neither /v1 nor contrib/lock's protocol\n/v1: %w\ncontrib/lock: %w", notV1, notContrib)
		}
		return Speaks{Protocol: protocolContrib}, nil
	}
	says := Speaks{Protocol: protocolV1}
	err := v.Write(ctx, tokenOf(33), asked, "stale")
	stale, is := errors.AsType[*fence.StaleError](err)
	says.Marks = is && stale.Mark == 34
	if errors.Is(err, fence.ErrStale) { // else a storage that refuses nothing would seem to know shared claims
		says.Shared = asksShared(ctx, v1{j.view()})
	}
	says.Sequence = asksSequence(ctx, v1{j.view()})
	says.Duplicates = says.Sequence && asksDuplicate(ctx, v1{j.view()})
	says.Batch = asksBatch(ctx, v1{j.view()})
	says.Parallel = asksParallel(ctx, v1{j.view()})
	return says, nil
}

// answersAsContrib makes a request that both protocols understand: contrib/lock's own storage takes any path
// and method, and ends when a body is not JSON.
func (j *judge) answersAsContrib(ctx context.Context) bool {
	v := v1{j.view()}
	a, _ := v.do(ctx, http.MethodPut, tokenOf(34), asked, `{"op":"read","key":"asked"}`)
	_, err := program.ParseContrib(a) // which is none if there was no answer
	return err == nil
}

// keeps says why a storage does not keep a value, in the protocol of s. The storage is "it".
func keeps(ctx context.Context, s store) error {
	if err := s.Write(ctx, tokenOf(34), asked, "value"); err != nil {
		return fmt.Errorf("a write with token 34: %w", unnamed(err))
	}
	value, ok, err := s.Read(ctx, fence.Claim{Scope: asked}, asked)
	if err == nil && (!ok || value != "value") {
		err = fmt.Errorf("it returned %q (there: %v), want %q", value, ok, "value")
	}
	if err != nil {
		return fmt.Errorf("a read of what was written: %w", unnamed(err))
	}
	return nil
}

// unnamed is an error that calls the storage "it".
func unnamed(err error) error {
	if unanswered, is := errors.AsType[*UnansweredError](err); is {
		it := *unanswered
		it.Storage = ""
		return &it
	}
	return err
}

func has(ctx context.Context, s store, value string) bool {
	got, _, err := s.Read(ctx, fence.Claim{Scope: asked}, asked)
	return err == nil && got == value
}

// asksShared: a shared claim is admitted after one with a higher token.
func asksShared(ctx context.Context, v v1) bool {
	for _, token := range []fence.Token{36, 34} {
		c := tokenOf(token)
		c.Mode = fence.Shared
		if v.Write(ctx, c, asked, fmt.Sprint(token)) != nil {
			return false
		}
	}
	// An exclusive claim is stale now: else the storage refused nothing because it has a hole.
	return errors.Is(v.Write(ctx, tokenOf(35), asked, "35"), fence.ErrStale)
}

// asksSequence: a request with a lower number than one that was done changes nothing.
func asksSequence(ctx context.Context, v v1) bool {
	for _, n := range []int64{1, 2, 1} {
		c := tokenOf(34)
		c.Sequence = n
		if err := v.Write(ctx, c, asked, fmt.Sprint(n)); err != nil && !errors.Is(err, fence.ErrStale) {
			return false
		}
	}
	return has(ctx, v, "2")
}

// asksDuplicate: the answer to the same request once more says that it was done before.
func asksDuplicate(ctx context.Context, v v1) bool {
	c := tokenOf(34)
	c.Sequence = 1
	_, first := v.do(ctx, http.MethodPut, c, asked, "value")
	again, err := v.do(ctx, http.MethodPut, c, asked, "value")
	return first == nil && err == nil && again.Header.Get(fencehttp.HeaderDuplicate) == "true"
}

// asksParallel: a read is answered while the storage waits for the body of a write.
func asksParallel(ctx context.Context, v v1) bool {
	late := Exchange{Method: http.MethodPut, Path: v.path(asked), Header: v.header(tokenOf(34)), Body: "late"}
	conn, err := dial(ctx, v.base, late, contentLength(len(late.Body)))
	if err != nil {
		return false
	}
	defer conn.Close()
	time.Sleep(headersRead / 5) // stands for no event that can be seen, and is short, as each run of laws asks this
	within, cancel := context.WithTimeout(ctx, heldUp)
	defer cancel()
	_, _, held := v.Read(within, fence.Claim{Scope: asked}, asked)
	_, err = finish(conn, late.Body, v.client.timeout)
	return held == nil && err == nil
}

func asksBatch(ctx context.Context, v v1) bool {
	a, err := v.batch(ctx, tokenOf(34), asked, "value")
	return err == nil && a.OK() && has(ctx, v, "value")
}

// writtenLate is for how long a storage that is told a directory may leave its data in memory.
const writtenLate = 6 * time.Second

// isDurable finds out whether a command's storage keeps its data, though it may lose what it was told last.
func (j *judge) isDurable(ctx context.Context) (bool, error) {
	keeps, err := j.keepsAfter(ctx, 0)
	if keeps || err != nil || !j.hasDir() {
		return keeps, err
	}
	return j.keepsAfter(ctx, writtenLate)
}

// keepsAfter finds out whether a storage keeps what was written so long before it is killed.
func (j *judge) keepsAfter(ctx context.Context, wait time.Duration) (bool, error) {
	if err := j.fresh(ctx); err != nil {
		return false, err
	}
	s := j.open()
	if err := keeps(ctx, s); err != nil {
		return false, err
	}
	select {
	case <-time.After(wait): // stands for no event that can be seen
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	if err := j.restart(ctx); err != nil {
		return false, err
	}
	value, _, err := s.at(j.urls()[0]).Read(ctx, fence.Claim{Scope: asked}, asked)
	return value == "value", err
}
