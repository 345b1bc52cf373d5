package fence_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencehttp"
)

// journal is a store of one's own: it keeps the marks itself, and is a fence.Guard.
type journal struct {
	mu    sync.Mutex // check, mark and operation are one step
	marks map[string]fence.Mark
	lines []string
}

// Do runs op if c is admitted.
func (j *journal) Do(ctx context.Context, c fence.Claim, op func(context.Context) error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	mark, err := j.marks[c.Scope].Admit(c)
	if err != nil {
		return err
	}
	j.marks[c.Scope] = mark // stays where op fails
	if err := op(ctx); err != nil {
		return err
	}
	j.marks[c.Scope] = mark.Done(c)
	return nil
}

// A store of one's own is a Guard, and stands behind fencehttp.Middleware as it is.
// Package fencetest has the laws that it has to obey.
func ExampleGuard() {
	j := &journal{marks: make(map[string]fence.Mark)}
	add := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { j.lines = append(j.lines, r.URL.Path) })
	guarded := fencehttp.Middleware(j, fencehttp.Options{
		Scope: func(*http.Request) string { return "/journal" },
	})(add)
	for _, token := range []fence.Token{34, 33} {
		r := httptest.NewRequest(http.MethodPost, fmt.Sprintf("/from-%d", token), nil)
		fencehttp.SetClaim(r.Header, fence.Claim{Scope: "/journal", Token: token})
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, r)
		fmt.Println(w.Code)
	}
	fmt.Println(j.lines)
	// Output:
	// 200
	// 412
	// [/from-34]
}
