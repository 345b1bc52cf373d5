package agent

import (
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]history.Event{
		"asks: lock /lock":                                     {Kind: history.KindInvoke, Op: history.OpLock, Scope: "/lock"},
		"done: trylock /lock (token 4)":                        {Kind: history.KindOK, Op: history.OpTryLock, Scope: "/lock", Token: 4},
		"asks: unlock /lock (token 4)":                         {Kind: history.KindInvoke, Op: history.OpUnlock, Scope: "/lock", Token: 4},
		"asks: write k=a b (token 4)":                          {Kind: history.KindInvoke, Op: history.OpWrite, Scope: "/lock", Token: 4, Key: "k", Value: "a b"},
		"asks: change k=a j=b":                                 {Kind: history.KindInvoke, Op: history.OpChange, Changes: []history.Change{{Key: "k", Value: "a"}, {Key: "j", Value: "b"}}},
		"done: read k (token 4): a":                            {Kind: history.KindOK, Op: history.OpRead, Token: 4, Key: "k", Value: "a"},
		"done: read k: it has no value":                        {Kind: history.KindOK, Op: history.OpRead, Key: "k", Missing: true},
		"failed: delete k (token 4): it is stale":              {Kind: history.KindFail, Op: history.OpDelete, Token: 4, Key: "k", Text: "it is stale"},
		"nobody knows whether it is done: write k=a: too late": {Kind: history.KindUnknown, Op: history.OpWrite, Key: "k", Value: "a", Text: "too late"},
		"lost /lock, which it held with token 4":               {Kind: history.KindLost, Scope: "/lock", Token: 4, Text: "lost /lock, which it held with token 4"},
		"nothing is done: unknown command":                     {Kind: history.KindError, Text: "unknown command"},
		"stopped (GC)":                                         {Kind: history.KindPause, Cause: history.CauseGC},
		"goes on; it stood still for 1.235s":                   {Kind: history.KindResume, Cause: history.CauseGC, Took: 1234567 * time.Microsecond},
		"ready":                                                {Kind: history.KindNote, Text: "ready"},
		"done: read k: \uFFFD[2J\uFFFD":                        {Kind: history.KindOK, Op: history.OpRead, Key: "k", Value: "\x1b[2J\n"},
	} {
		if got := words(e); got != want {
			t.Errorf("%+v: %q, want %q", e, got, want)
		}
	}
}
