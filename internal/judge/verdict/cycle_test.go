package verdict_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/history"
)

// TestDeadlocked: clients wait for each other, and nobody ends that in time.
func TestDeadlocked(t *testing.T) {
	const cycle = "c1 and c2 waited for each other for 5.000 s from 1.000 s on: c2 for /a, which c1 held, and c1 for /b, which c2 held"
	const begin = `
			bound c1 4s
			bound c2 9s
			grant a by c1 of /a
			grant b by c2 of /b
			lock c1 of /b
			lock c2 of /a`
	for _, tt := range []judged{
		{"one gives up", begin + `
			after 5s
			nolock c1 of /b`, history.Blocked, []string{cycle}},
		{"it never ends", begin + `
			after 5s
			over`, history.Blocked, []string{cycle}},
		{"one gives up in time", begin + `
			after 4s
			nolock c1 of /b
			end a released of /a
			grant d by c2 of /a
			told c2 d of /a
			after 9s
			over`, history.Safe, nil},
		{"a lease runs out in time", begin + `
			after 4s
			end a expired of /a
			grant d by c2 of /a
			told c2 d of /a
			after 9s
			over`, history.Safe, nil},
		{"a lease runs out too late", begin + `
			after 5s
			end a expired of /a`, history.Blocked, []string{cycle}},
		{"a second cycle of the same clients", begin + `
			after 4s
			nolock c1 of /b
			lock c1 of /b
			after 4s
			over`, history.Safe, nil},
		{"one order", `
			bound c1 4s
			bound c2 4s
			grant a by c1 of /a
			lock c2 of /a
			after 9s
			over`, history.Safe, nil},
		{"one waits for one who waits for nobody", `
			bound c1 4s
			bound c2 4s
			bound c3 4s
			grant a by c1 of /a
			grant b by c2 of /b
			lock c3 of /a
			lock c1 of /b
			after 9s
			over`, history.Safe, nil},
		{"one waits for itself", `
			bound c1 4s
			grant a by c1 of /a
			lock c1 of /a
			after 9s
			over`, history.Safe, nil},
		{"three in a cycle, and one behind them", `
			bound c4 1s
			bound c3 4s
			grant a by c1 of /a
			grant b by c2 of /b
			grant d by c3 of /d
			lock c4 of /a
			lock c1 of /b
			lock c2 of /d
			after 2s
			lock c3 of /a
			after 5s
			over`, history.Blocked, []string{"c1 and c2 and c3 waited for each other for 5.000 s from 3.000 s on: c3 for /a, which c1 held, and c1 for /b, which c2 held, and c2 for /d, which c3 held"}},
		{"it closes with a grant", `
			bound c1 4s
			grant a by c1 of /a
			grant b by c3 of /b
			lock c1 of /b
			lock c2 of /a
			lock c2 of /b
			after 2s
			end b of /b
			grant d by c2 of /b
			told c2 d of /b
			after 5s
			over`, history.Blocked, []string{"for 5.000 s from 3.000 s on"}},
		{"one of them stands still", begin + `
			pause c1
			after 4s
			resume c1
			after 4s
			over`, history.Safe, nil},
		{"one of them is killed", begin + `
			after 1s
			kill c2
			after 5s
			over`, history.Safe, nil},
		{"nobody knows the bounds", `
			grant a by c1 of /a
			grant b by c2 of /b
			lock c1 of /b
			lock c2 of /a
			after 9s
			over`, history.Safe, nil},
		{"the lock service stands still meanwhile", begin + `
			after 3s
			pause etcd
			after 5s
			resume etcd
			after 3s
			nolock c1 of /b`, history.Undecided, nil},
		{"the machine gave it no processor", begin + `
			after 5s
			starved c2 1s
			nolock c1 of /b`, history.Undecided, nil},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}
