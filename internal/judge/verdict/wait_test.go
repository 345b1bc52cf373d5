package verdict_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/judge/verdict"
)

// TestOrphaned: a lock is held by one who cannot renew it, and somebody waits.
func TestOrphaned(t *testing.T) {
	const orphan = "/lock was held for 5.000 s from 1.000 s on, though c1 could not renew it, and somebody waited"
	for _, tt := range []judged{
		{"its holder was killed", `
			bound c1 4s
			grant a by c1
			kill c1
			lock c2
			after 5s
			end a
			grant b by c2
			told c2 b`, history.Blocked, []string{orphan}},
		{"it ends in time", `
			bound c1 4s
			grant a by c1
			kill c1
			lock c2
			after 4s
			end a
			grant b by c2
			told c2 b
			after 9s
			over`, history.Safe, nil},
		{"it never ends", `
			bound c1 4s
			grant a by c1
			kill c1
			lock c2
			after 5s
			over`, history.Blocked, []string{orphan}},
		{"who waits gives up", `
			bound c1 4s
			grant a by c1
			kill c1
			lock c2
			after 5s
			nolock c2
			after 1s
			end a`, history.Blocked, []string{orphan}},
		{"who waits gives up before", `
			bound c1 4s
			grant a by c1
			kill c1
			lock c2
			after 4s
			nolock c2
			after 1s
			end a`, history.Safe, nil},
		{"nobody waits", `
			bound c1 4s
			grant a by c1
			kill c1
			after 5s
			end a
			lock c2
			grant b by c2
			told c2 b`, history.Safe, nil},
		{"somebody comes late", `
			bound c1 4s
			grant a by c1
			kill c1
			after 4s
			lock c2
			after 1s
			end a`, history.Blocked, []string{orphan}},
		{"it is said once", `
			bound c1 4s
			grant a by c1
			kill c1
			lock c2
			after 5s
			nolock c2
			lock c2
			after 5s
			nolock c2`, history.Blocked, []string{orphan}},
		{"nobody knows the bound", `
			bound c2 4s
			grant a by c1
			kill c1
			lock c2
			after 5s
			end a`, history.Safe, nil},
		{"its holder lives", `
			bound c1 4s
			grant a by c1
			lock c2
			after 5s
			end a`, history.Safe, nil},
		{"its holder stands still", `
			bound c1 4s
			grant a by c1
			pause c1
			lock c2
			after 5s
			end a`, history.Blocked, []string{orphan}},
		{"it goes on in time", `
			bound c1 4s
			grant a by c1
			pause c1
			lock c2
			after 4s
			resume c1
			after 4s
			end a`, history.Safe, nil},
		{"its holder is cut off", `
			bound c1 4s
			grant a by c1
			network c1 partition
			lock c2
			after 5s
			end a`, history.Blocked, []string{orphan}},
		{"the network is mended in time", `
			bound c1 4s
			grant a by c1
			network c1 partition
			lock c2
			after 4s
			network c1 heal
			after 4s
			end a`, history.Safe, nil},
		{"a deaf holder can renew it", `
			bound c1 4s
			grant a by c1
			network c1 deafen
			lock c2
			after 5s
			end a`, history.Safe, nil},
		{"its client was started again, and waits itself", `
			bound c1 4s
			grant a by c1
			kill c1
			restart c1
			lock c1
			after 5s
			end a`, history.Blocked, []string{orphan}},
		{"its client was killed before", `
			bound c1 4s
			kill c1
			restart c1
			grant a by c1
			lock c2
			after 5s
			end a`, history.Safe, nil},
		{"its client was killed in the queue", `
			bound c1 4s
			grant x by c3
			queue a by c1
			kill c1
			restart c1
			end x
			grant a by c1
			lock c2
			after 5s
			end a`, history.Blocked, []string{orphan}},
		{"it is overtaken in time", `
			bound c1 4s
			grant a by c1
			kill c1
			lock c2
			after 4s
			grant b by c2
			after 4s
			end a`, history.Safe, nil},
		{"who waits stands still, too", `
			bound c1 4s
			grant a by c1
			kill c1
			lock c2
			pause c2
			after 5s
			end a`, history.Safe, nil},
		{"the lock service stands still meanwhile", `
			bound c1 4s
			grant a by c1
			kill c1
			lock c2
			after 2s
			pause etcd
			after 5s
			resume etcd
			after 2s
			end a`, history.Safe, nil},
		{"it was started again", `
			bound c1 4s
			grant a by c1
			kill c1
			lock c2
			restart etcd
			after 4s
			end a`, history.Safe, nil},
		{"the machine stands still meanwhile", `
			bound c1 4s
			grant a by c1
			kill c1
			lock c2
			after 2s
			pause gcsim
			end a
			after 5s
			resume gcsim`, history.Safe, nil},
		{"it is another lock that somebody waits for", `
			bound c1 4s
			grant a by c1
			kill c1
			lock c2 of /other
			grant b by c2 of /other
			after 5s
			end a`, history.Safe, nil},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}

// TestFreeLockIsWaitedFor: a lock is free, and nobody wakes who waits for it.
func TestFreeLockIsWaitedFor(t *testing.T) {
	const waited = "c2 waited for the lock /lock, which was free, for 4.000 s from 1.000 s on"
	for _, tt := range []judged{
		{"it is granted late", `
			handover 3s
			grant a by c1
			lock c2
			queue b by c2
			end a
			after 4s
			grant b by c2
			told c2 b`, history.Blocked, []string{waited}},
		{"it is granted in time", `
			handover 3s
			grant a by c1
			lock c2
			queue b by c2
			end a
			after 3s
			grant b by c2
			told c2 b
			after 9s
			over`, history.Safe, nil},
		{"it is never granted", `
			handover 3s
			grant a by c1
			lock c2
			end a
			after 4s
			over`, history.Blocked, []string{waited}},
		{"it is never granted, and another lane than gcsim's has the end", `
			handover 3s
			grant a by c1
			lock c2
			end a
			after 4s
			over c1`, history.Blocked, []string{waited}},
		{"somebody else gets it", `
			handover 3s
			lock c2
			after 4s
			grant a by c1
			nolock c2`, history.Blocked, []string{waited}},
		{"who waits is killed", `
			handover 3s
			lock c2
			after 4s
			kill c2
			after 4s
			over`, history.Blocked, []string{waited}},
		{"it is told that it failed, which is said once", `
			handover 3s
			lock c2
			after 4s
			nolock c2
			over`, history.Blocked, []string{"c2 did not get the lock /lock, which was free"}},
		{"its lease ran out in the queue", `
			handover 3s
			lock c2
			after 4s
			nolock c2 expired
			over`, history.Safe, nil},
		{"nobody promised anything", `
			lock c2
			after 4s
			over`, history.Safe, nil},
		{"it was held for most of the time", `
			handover 3s
			grant a by c1
			lock c2
			after 4s
			end a
			after 3s
			grant b by c2`, history.Safe, nil},
		{"who does not wait is not waited for", `
			handover 3s
			try c2
			after 4s
			over`, history.Safe, nil},
		{"it stands still for a while", `
			handover 3s
			lock c2
			after 2s
			pause c2
			after 2s
			resume c2
			after 2s
			grant b by c2`, history.Safe, nil},
		{"it was started again, and waits no more", `
			handover 3s
			lock c2
			kill c2
			restart c2
			after 4s
			over`, history.Safe, nil},
		{"it is cut off", `
			handover 3s
			network c2 partition
			lock c2
			after 4s
			network c2 heal
			after 3s
			grant b by c2`, history.Safe, nil},
		{"it is deaf", `
			handover 3s
			network c2 deafen
			lock c2
			after 4s
			over`, history.Safe, nil},
		{"what it sends waits in the network", `
			handover 3s
			network c2 delay
			lock c2
			after 4s
			network c2 deliver
			after 3s
			grant b by c2`, history.Safe, nil},
		{"the lock service is dead", `
			handover 3s
			lock c2
			kill etcd
			after 4s
			restart etcd
			after 3s
			grant b by c2`, history.Safe, nil},
		{"the storage is dead", `
			handover 3s
			lock c2
			kill storage
			after 2s
			restart storage
			after 2s
			grant b by c2`, history.Blocked, []string{waited}},
		{"the machine stands still", `
			handover 3s
			lock c2
			after 2s
			pause gcsim
			after 4s
			grant b by c2
			resume gcsim`, history.Safe, nil},
		{"the machine goes on, and no line has its pause", `
			handover 3s
			lock c2
			after 2s
			resume gcsim
			after 2s
			grant b by c2`, history.Undecided, nil},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.test(t) })
	}
}

// TestUnmeasured: where the machine or the lock service stood still, a time that may have
// been too long, and may not, leaves the verdict open.
func TestUnmeasured(t *testing.T) {
	const held = "/lock was held for 6.000 s from 1.000 s on, though c1 could not renew it, and somebody waited. Meanwhile"
	const waited = "c2 waited for the lock /lock, which was free, for 6.000 s from 1.000 s on. Meanwhile"
	const dead = `
			bound c1 4s
			grant a by c1
			kill c1
			lock c2
			after 2s`
	const still = `
			pause gcsim
			after 1s
			resume gcsim
			after 2s`
	for _, tt := range []struct {
		name, story, want string
		unsure            string
	}{
		{"a dead holder", dead + still + still + "\nend a", history.Undecided, held},
		{"until the end", dead + still + still + "\nover", history.Undecided, held},
		{"until nobody waits", dead + still + still + "\nnolock c2\nend a", history.Undecided, held},
		{"it is said once", dead + still + still + "\nnolock c2\nlock c2\nend a", history.Undecided, held},
		{"the lock service was restarted", dead + "\nrestart etcd\nafter 4s\nend a", history.Undecided, held},
		{"the time that ran is within the bound", dead + still + "\nend a", history.Safe, ""},
		{"nobody waits", "bound c1 4s\ngrant a by c1\nkill c1\nafter 2s" + still + still + "\nend a", history.Safe, ""},
		{"the time after that is too long by itself", dead + still + "\nafter 3s\nend a", history.Blocked, ""},
		{"a free lock", "handover 4s\nlock c2\nafter 2s" + still + still + "\ngrant b by c2\ntold c2 b", history.Undecided, waited},
		{"its client is told", "handover 4s\nlock c2\nafter 2s" + still + still + "\nnolock c2", history.Blocked, ""},
		{"a free lock whose time is too long by itself", "handover 4s\nlock c2\nafter 2s" + still + "\nafter 3s\ngrant b by c2\ntold c2 b", history.Blocked, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := verdict.Judge(story(t, history.Expect{}, tt.story))
			if v.Name != tt.want || tt.unsure == "" && len(v.Undecided) > 0 {
				t.Fatalf("verdict %s of %q, open is %+v, want %s", v.Name, tt.story, v.Undecided, tt.want)
			}
			if tt.unsure != "" && (len(v.Undecided) != 1 || !strings.HasPrefix(v.Undecided[0].Text, tt.unsure)) {
				t.Errorf("open is %+v, want %q", v.Undecided, tt.unsure)
			}
		})
	}
}
