package e2e

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/internal/storage/kvhttp"
	"github.com/fencelab/fencelab/internal/tools/need"
	"github.com/fencelab/fencelab/pkg/fence"
)

// TestBoltSurvivesKill kills the storage with kill -9 under 16 concurrent
// writers, again and again. Every write that was acknowledged is there
// afterwards, and no mark went down. (kill -9 leaves the machine's page cache as
// it is; what a power cut does is not tested here.)
func TestBoltSurvivesKill(t *testing.T) {
	need.Time(t, "to kill a storage fifty times")
	t.Parallel()
	const rounds, writers = 50, 16
	w := newWorld(t)
	data := t.TempDir()
	var acknowledged [writers]int64 // the last value of each writer's key, also its token
	for round := range rounds {
		p, url := w.storage("--engine", "bolt", "--data", data)
		client := kvhttp.NewClient(url, kvhttp.ClientOptions{})
		for i := range writers {
			key := fmt.Sprint("key", i)
			mark, err := client.Mark(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if int64(mark.Token) < acknowledged[i] {
				t.Fatalf("round %d: the mark of %s is %d, %d was acknowledged", round, key, mark.Token, acknowledged[i])
			}
			if acknowledged[i] == 0 {
				continue
			}
			item, err := client.Read(t.Context(), kv.Request{}, key)
			if err != nil {
				t.Fatalf("round %d: %s, of which %d was acknowledged: %v", round, key, acknowledged[i], err)
			}
			if got, _ := strconv.ParseInt(item.Value, 10, 64); got < acknowledged[i] || got != int64(item.Token) {
				t.Fatalf("round %d: %s is %q of token %d, %d was acknowledged", round, key, item.Value, item.Token, acknowledged[i])
			}
		}
		kill := int64(rand.IntN(400)) // acknowledgements until the storage is killed
		var count atomic.Int64
		var once sync.Once
		var wg sync.WaitGroup
		for i := range writers {
			wg.Go(func() {
				key := fmt.Sprint("key", i)
				for n := acknowledged[i] + 1; ; n++ {
					req := kv.Request{Claim: fence.Claim{Scope: key, Token: fence.Token(n)}}
					if _, err := client.Write(t.Context(), req, key, strconv.FormatInt(n, 10)); err != nil {
						return // the storage is gone
					}
					acknowledged[i] = n
					if count.Add(1) > kill {
						once.Do(func() { p.signal(syscall.SIGKILL) })
					}
				}
			})
		}
		wg.Wait()
		p.want(-1)
		client.Close()
	}
}

func TestBoltFlags(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for args, says := range map[[3]string]string{
		{"--engine", "bolt"}:                "--data DIR",
		{"--engine", "paper"}:               `unknown engine "paper", want memory, bolt or etcd`,
		{"--data", t.TempDir()}:             "did you mean --engine bolt",
		{"--max-body", "0"}:                 "want 1 or more",
		{"--fencing", "perhaps"}:            `want "on" or "off"`,
		{"--listen", "127.0.0.1:notaport"}:  "choose another address with --listen",
		{"--journal", "/no/such/directory"}: "journal: open /no/such/directory",
	} {
		p := w.start("storage", args[0], args[1])
		if p.end() == 0 {
			t.Errorf("storage %q: exit status 0", args)
		}
		p.says(says)
	}
}
