package verdict_test

import (
	"testing"

	"github.com/fencelab/fencelab/internal/history"
)

func TestTenures(t *testing.T) {
	for _, tt := range []judged{
		{"two clients work in one tenure", `
			grant a by c1
			told c1 a
			told c2 a
			c1: write k=1 #1 (a)
			applied #1
			c1: write k=2 #2 (a)
			applied #2
			c2: write k=3 #3 (a)
			applied #3
			c1: write k=4 #4 (a)
			applied #4
			final k=4`, history.Corrupted, []string{"c2's write k=3 at 1.000 s was applied in the tenure that c1 works in as well: both were told that the lock is theirs"}},
		{"reading is work", `
			grant a by c1
			told c1 a
			told c2 a
			c1: read k #1 (a)
			applied #1
			c2: read k #2 (a)
			applied #2`, history.Corrupted, []string{"c2's read of k"}},
		{"two have the lock, one works", `
			grant a by c1
			told c1 a
			told c2 a
			c1: write k=1 #1 (a)
			applied #1
			c2: write k=2 #2 (a)
			refused #2 ahead 9
			final k=1`, history.Safe, nil},
		{"one of the two took it without waiting", `
			grant a by c1
			told c1 a
			gotit c2 a
			c1: read k #1 (a)
			applied #1
			c2: read k #2 (a)
			applied #2`, history.Corrupted, []string{"c2's read of k"}},
		{"who came second was not told that it holds it", `
			grant a by c1
			told c1 a
			c1: read k #1 (a)
			applied #1
			c2: read k #2 (a)
			applied #2`, history.Safe, nil},
		{"who came first was not", `
			grant a by c1
			told c2 a
			c1: read k #1 (a)
			applied #1
			c2: read k #2 (a)
			applied #2`, history.Safe, nil},
		{"one lock after the other on one session", `
			grant /lock/s@5 by c1
			told c1 /lock/s@5
			c1: write k=1 #1 (/lock/s@5)
			applied #1
			end /lock/s@5
			grant /lock/s@9 by c2
			told c2 /lock/s@9
			c2: write k=2 #2 (/lock/s@9)
			applied #2
			final k=2`, history.Safe, nil},
		{"a revoked tenure is over", `
			grant a by c1
			c1: write k=1 #1 (a)
			applied #1
			end a revoked
			grant b by c2
			c2: write k=2 #2 (b)
			applied #2
			c1: write k=3 #3 (a)
			applied #3
			final k=3`, history.Corrupted, []string{"c1's write k=3"}},
		{"its holder has no right any more", `
			grant a by c1
			end a revoked
			c1: write k=1 #1 (a)
			refused #1 stale
			final k=`, history.Safe, nil},
		{"a waiter writes after the holder", `
			grant a by c1
			queue b by c2
			c1: write k=1 #1 (a)
			applied #1
			c2: write k=2 #2 (b)
			applied #2
			end a
			grant b by c2
			c2: write k=3 #3 (b)
			applied #3
			final k=3`, history.Corrupted, []string{"c2's write k=2 at 1.000 s was applied without the lock, after c1's write k=1"}},
		{"a waiter is refused", `
			grant a by c1
			queue b by c2
			c1: write k=1 #1 (a)
			applied #1
			c2: write k=2 #2 (b)
			refused #2 stale
			end a
			grant b by c2
			c2: write k=3 #3 (b)
			applied #3
			final k=3`, history.Safe, nil},
		{"a waiter's write locks the holder out", `
			grant a by c1
			queue b by c2
			c2: write k=2 #2 (b)
			applied #2
			c1: write k=1 #1 (a)
			refused #1 stale 5 9
			final k=2`, history.Blocked, []string{"c1's write k=1 at 1.000 s was refused (stale), but its client held the lock"}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}

func TestRefusals(t *testing.T) {
	for _, tt := range []judged{
		{"a holder shows no token", `
			grant a by c1
			c1: write k=1 #1 (a)
			refused #1 missing 0 9
			final k=`, history.Safe, nil},
		{"a holder shows a token that nobody was granted", `
			grant a by c1 5
			c1: write k=1 #1 (a)
			refused #1 ahead 9223372036854775807
			final k=`, history.Safe, nil},
		{"a holder's own token is refused as ahead", `
			grant a by c1 5
			c1: write k=1 #1 (a)
			refused #1 ahead 5
			final k=`, history.Blocked, []string{"was refused (ahead)"}},
		{"a lease ID is refused as stale", `
			grant a by c1 5
			c1: write k=1 #1 (a)
			refused #1 stale 77 99
			final k=`, history.Blocked, []string{"was refused (stale)"}},
		{"an old sequence number", `
			grant a by c1 5
			c1: write k=1 #1 (a) 1
			c1: write k=2 #2 (a) 2
			applied #2
			ok #2
			refused #1 stale 5 5
			fail #1
			final k=2`, history.Safe, nil},
		{"an earlier tenure's sequence numbers, under the same token", `
			grant a by c1 5
			c1: write k=1 #1 (a) 1
			c1: write k=2 #2 (a) 2
			applied #1
			applied #2
			end a
			grant b by c2 9
			c2: write k=3 #3 (b) 1
			refused #3 stale 77 77
			fail #3
			final k=2`, history.Blocked, []string{"c2's write k=3 at 1.000 s was refused (stale), but its client held the lock"}},
		{"a number does not excuse that a read is refused, which has none", `
			grant a by c1 5
			c1: write k=1 #1 (a) 1
			applied #1
			c1: read k #2 (a)
			refused #2 stale 5 5
			final k=1`, history.Blocked, []string{"c1's read of k"}},
		{"a change of several keys is one request", `
			grant a by c1 5
			c1: change k=1,m=1 #1 (a)
			refused #1 stale 5 9
			final k=`, history.Blocked, []string{"c1's write k=1"}},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}

func TestFreeLock(t *testing.T) {
	for _, tt := range []judged{
		{"of a lock that was free", `
			grant a by c1
			end a
			try c2
			notry c2`, history.Blocked, []string{"c2 did not get the lock /lock, which was free"}},
		{"it was held", `
			grant a by c1
			try c2
			notry c2`, history.Safe, nil},
		{"it was held at first", `
			grant a by c1
			try c2
			end a
			notry c2`, history.Safe, nil},
		{"somebody held it meanwhile", `
			try c2
			grant a by c1
			notry c2`, history.Safe, nil},
		{"somebody queued meanwhile", `
			try c2
			queue a by c1
			notry c2`, history.Safe, nil},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}
