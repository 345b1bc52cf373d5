package judge_test

import (
	"fmt"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge"
	"github.com/fencelab/fencelab/pkg/fence"
)

// long is a history of about n events: clients that take the lock by turns and write
// one key many times in each tenure, or all of it in one tenure.
func long(n, writes int) []history.Event {
	events := []history.Event{{Lane: history.LaneLab, Kind: history.KindRun, Run: &history.Run{
		Version: history.Version, Tokens: map[string]string{"c1": "revision", "c2": "revision"}, Together: [][]string{{"k", "m"}},
	}}}
	tell := func(e history.Event) { events = append(events, e) }
	index := int64(0)
	for token := fence.Token(1); len(events) < n; token++ {
		client, tenure := fmt.Sprint("c", 1+token%2), fmt.Sprint("/lock/x@", token)
		lock := history.Event{Lane: "etcd", Kind: history.KindGranted, Client: client, Tenure: tenure, Scope: "/lock", Token: token}
		tell(lock)
		lock.Lane, lock.Kind, lock.Op = client, history.KindOK, history.OpLock
		tell(lock)
		for w := 0; w < writes && len(events) < n; w++ {
			index++
			e := history.Event{
				Lane: client, Client: client, Kind: history.KindInvoke, Op: history.OpWrite, Tenure: tenure, Request: fmt.Sprint("r", index),
				Scope: "/lock", Token: token, Key: "k", Value: fmt.Sprint(index),
			}
			tell(e)
			e.Lane, e.Kind, e.Tenure, e.Index = history.LaneStorage, history.KindApplied, "", index
			tell(e)
			e.Lane, e.Kind, e.Tenure, e.Index = client, history.KindOK, tenure, 0
			tell(e)
		}
		tell(history.Event{Lane: "etcd", Kind: history.KindEnded, Client: client, Tenure: tenure, Scope: "/lock", Cause: history.CauseReleased})
	}
	tell(history.Event{Lane: history.LaneLab, Kind: history.KindEnd})
	return events
}

// BenchmarkJudge shows how judging grows with the history: ns/event and B/event stay
// nearly the same from 1,000 to 100,000 events.
func BenchmarkJudge(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		for _, shape := range []struct {
			name   string
			writes int
		}{{"one-tenure", n}, {"many-tenures", 10}} {
			events := long(n, shape.writes)
			b.Run(fmt.Sprintf("%s/%d", shape.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := judge.Judge(events); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
			})
		}
	}
}
