package verdict_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/history"
)

// TestGrantUnheard: a lock is held by one who cannot hear of it, or waits for it no more, and
// somebody waits.
func TestGrantUnheard(t *testing.T) {
	const (
		dead  = "/lock was held for 5.000 s from 1.000 s on, though c1 could not renew it, and somebody waited"
		gone  = "/lock was held for 5.000 s from 1.000 s on, though c1 had given up and did not know, and somebody waited"
		later = "/lock was held for 5.000 s from 3.000 s on, though c1 had given up and did not know, and somebody waited"
	)
	for _, tt := range []judged{
		{"who waited was killed before the grant", `
			bound c1 4s
			lock c1
			kill c1
			grant a by c1
			lock c2
			after 5s
			end a`, history.Blocked, []string{dead}},
		{"within the bound nothing is wrong, though a client was told that it does not get the lock", `
			bound c1 5s
			handover 1s
			lock c1
			kill c1
			grant a by c1
			lock c2
			after 5s
			nolock c2
			over`, history.Safe, nil},
		{"the new process of who was killed knows nothing", `
			bound c1 4s
			lock c1
			kill c1
			restart c1
			grant a by c1
			lock c2
			after 5s
			end a`, history.Blocked, []string{dead}},
		{"the new process has asked anew", `
			bound c1 4s
			lock c1
			kill c1
			restart c1
			lock c1
			grant a by c1
			told c1 a
			lock c2
			after 5s
			end a`, history.Safe, nil},
		{"it gave up before the grant", `
			bound c1 4s
			grant x by c3
			lock c1
			nolock c1
			end x
			grant a by c1
			lock c2
			after 5s
			end a`, history.Blocked, []string{gone}},
		{"it gave up after the grant", `
			bound c1 4s
			try c1
			grant a by c1
			lock c2
			after 2s
			notry c1
			after 5s
			end a`, history.Blocked, []string{later}},
		{"it gave up, and asks once more in vain", `
			bound c1 4s
			grant x by c3
			lock c1
			nolock c1
			end x
			grant a by c1
			lock c2
			lock c1
			after 5s
			over`, history.Blocked, []string{gone}},
		{"it gave up, and is told in time", `
			bound c1 4s
			grant x by c3
			lock c1
			nolock c1
			end x
			grant a by c1
			lock c2
			after 4s
			told c1 a
			after 5s
			end a`, history.Safe, nil},
		{"it waits", `
			bound c1 4s
			lock c1
			grant a by c1
			lock c2
			after 5s
			end a`, history.Safe, nil},
		{"another attempt was not made, as the client waits already", `
			bound c1 4s
			lock c1
			try c1
			nolock c1 held
			grant a by c1
			lock c2
			after 5s
			end a`, history.Safe, nil},
		{"what it had before is another tenure", `
			bound c1 4s
			lock c1
			grant a by c1
			told c1 a
			end a
			grant b by c1
			lock c2
			nolock c1
			after 5s
			end b`, history.Safe, nil},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}

// TestGivenBack: whether a client did not get a free lock does not depend on which comes first, what
// the client is told or the end of its tenure.
func TestGivenBack(t *testing.T) {
	const free = "c1 did not get the lock /lock, which was free"
	for _, tt := range []judged{
		{"it is told first", `
			lock c1
			grant a by c1
			nolock c1
			end a
			over`, history.Blocked, []string{free}},
		{"it is told afterwards", `
			lock c1
			grant a by c1
			end a
			nolock c1
			over`, history.Blocked, []string{free}},
		{"another one has the lock", `
			grant x by c2
			lock c1
			nolock c1
			end x
			over`, history.Safe, nil},
		{"it has the lock already", `
			lock c1
			grant a by c1
			told c1 a
			lock c1
			nolock c1
			end a
			over`, history.Safe, nil},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}

// TestHandedOver: a client may be told that it did not get a lock in the moment in which the lock
// goes to another one that waits.
func TestHandedOver(t *testing.T) {
	const free = "c1 did not get the lock /lock, which was free"
	for _, tt := range []judged{
		{"to who waits", `
			handover 1s
			grant x by c3
			lock c1
			lock c2
			end x
			nolock c1
			after 1s
			grant b by c2
			told c2 b`, history.Safe, nil},
		{"too late", `
			handover 1s
			grant x by c3
			end x
			lock c1
			after 500ms
			lock c2
			nolock c1
			after 1001ms
			grant b by c2
			told c2 b`, history.Blocked, []string{free, "c2 waited for the lock /lock, which was free, for 1.001 s"}},
		{"to who asks afterwards", `
			handover 1s
			grant x by c3
			end x
			lock c1
			nolock c1
			lock c2
			grant b by c2
			told c2 b`, history.Blocked, []string{free}},
		{"to who waits and stands still", `
			handover 1s
			grant x by c3
			lock c1
			lock c2
			pause c2
			end x
			nolock c1
			grant b by c2
			resume c2
			told c2 b`, history.Safe, nil},
		{"of another lock", `
			handover 1s
			grant x by c3
			end x
			lock c1
			lock c2
			lock c2 of /other
			nolock c1
			grant b by c2 of /other
			nolock c2
			over`, history.Blocked, []string{free, "c2 did not get the lock /lock, which was free"}},
		{"nobody has promised when", `
			grant x by c3
			lock c1
			lock c2
			end x
			nolock c1
			grant b by c2
			told c2 b`, history.Blocked, []string{free}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}

// TestJustFreed: a waiter that leaves when its lock has just become free was not denied it, as a grant may take a while.
func TestJustFreed(t *testing.T) {
	const free = "c1 did not get the lock /lock, which was free"
	for _, tt := range []judged{
		{"it leaves in time", `
			handover 1s
			grant x by c3
			lock c1
			end x
			after 999ms
			nolock c1
			over`, history.Safe, nil},
		{"it asked afterwards", `
			handover 1s
			grant x by c3
			end x
			lock c1
			nolock c1
			over`, history.Blocked, []string{free}},
		{"it asked once more", `
			handover 1s
			grant x by c3
			lock c1
			end x
			nolock c1
			lock c1
			nolock c1
			over`, history.Blocked, []string{free}},
		{"its own tenure ended", `
			handover 1s
			lock c1
			grant x by c1
			end x
			nolock c1
			over`, history.Blocked, []string{free}},
		{"another lock became free", `
			handover 1s
			grant x by c3 of /other
			lock c1
			end x
			nolock c1
			over`, history.Blocked, []string{free}},
		{"nobody has promised when", `
			grant x by c3
			lock c1
			end x
			nolock c1
			over`, history.Blocked, []string{free}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}
