package main

import (
	"context"
	"crypto/md5"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
	"go.etcd.io/bbolt"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"github.com/fencelab/fencelab/internal/platform/fail"
	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencebolt"
	"github.com/fencelab/fencelab/pkg/fence/fenceetcd"
	"github.com/fencelab/fencelab/pkg/fence/fenceredis"
	"github.com/fencelab/fencelab/pkg/fence/fencesql"
)

// scale measures what marks and locks cost where there are many of them.
func (b *bench) scale() {
	b.markSizes()
	b.lockSizes()
	b.storages()
}

// hoard is a store that is filled with marks.
type hoard struct {
	fill  func(scopes []string) // gives each the mark markToken
	mark  func(scope string) (fence.Mark, error)
	sizes func() []int64
	end   func()
}

// keeper keeps marks.
type keeper struct {
	name  string
	of    []string // what its sizes are of
	piece int      // how many marks are put at a time
	slow  bool     // it gets a tenth of the marks at the most
	scope func(i, length int) string
	open  func(b *bench) hoard
}

func keepers() []keeper {
	list := []keeper{
		{"fence.Register", []string{"heap"}, 10_000, false, mixed, openRegister},
		{"storage, engine memory", []string{"heap"}, 10_000, false, mixed, openMemory},
		{"fencebolt, scopes in their order", []string{"file"}, 10_000, false, ordered, openBolt},
		{"storage, engine bolt", []string{"file"}, 50_000, true, mixed, openBoltEngine},
		{"fenceetcd", []string{"file", "memory"}, 4000, false, mixed, openEtcd},
		{"fenceredis", []string{"memory"}, 10_000, false, mixed, openRedis},
	}
	for _, d := range databases {
		list = append(list, keeper{"fencesql in " + d.name, []string{"file"}, 10_000, d.name != "PostgreSQL", mixed, d.openMarks})
	}
	return list
}

// The lengths of the scopes, from which the rule is computed.
const (
	shortScope = 20
	longScope  = 100
)

// mixed is the i-th scope where neighbours are as far apart as those of random names.
func mixed(i, length int) string {
	sum := md5.Sum(strconv.AppendInt(nil, int64(i), 10))
	return strings.Repeat("/", length-shortScope) + hex.EncodeToString(sum[:shortScope/2])
}

// ordered is the i-th scope where scopes have numbers that grow.
func ordered(i, length int) string { return fmt.Sprintf("%0*d", length, i) }

// markToken has as many digits as one of a service that has been there for a while.
const markToken fence.Token = 1_234_567_890

func (b *bench) markSizes() {
	counts := []int{b.marks / 100, b.marks / 10, b.marks}
	columns := []string{"", "bytes of"}
	for _, n := range counts {
		columns = append(columns, thousands(float64(n))+" marks")
	}
	t := b.report.table("Bytes a mark", fmt.Sprintf(
		"Scopes have %d bytes, and random names but where the table says that they come in their order. *heap*: live heap of the process. *file*: what is used of the file, free pages left out; of a database the table with its index. *memory*: of etcd without the pages of its file, of Redis what it allocated. *rule*: from scopes of %d and of %d bytes, %s of each. The last column is computed from the largest number that was measured. What is slow to fill gets a tenth of the marks.",
		shortScope, shortScope, longScope, thousands(float64(counts[1]))),
		append(columns, "rule, bytes", "a billion marks, GB")...)
	for _, k := range keepers() {
		t.note += lackOf(k.name, fail.Caught(func() { b.markSize(t, k, counts) }))
	}
}

func (b *bench) markSize(t *table, k keeper, counts []int) {
	if k.slow {
		counts = counts[:2]
	}
	var short, long [][]float64
	fail.If(b.inGroup(func() { short = b.hoarded(k, shortScope, counts) }))
	fail.If(b.inGroup(func() { long = b.hoarded(k, longScope, counts[1:2]) }))
	for i, what := range k.of {
		row := []string{k.name, what, "", "", ""}
		for n := range counts {
			row[2+n] = number(short[n][i])
		}
		slope := (long[0][i] - short[1][i]) / (longScope - shortScope)
		row = append(row, fmt.Sprintf("%s + %s × length", number(short[1][i]-slope*shortScope), number(slope)),
			thousands(short[len(counts)-1][i]))
		t.add(row...)
	}
}

// hoarded is the bytes a mark, of each number of marks.
func (b *bench) hoarded(k keeper, length int, counts []int) (each [][]float64) {
	h := k.open(b)
	defer h.end()
	before, filled := h.sizes(), 0
	for _, n := range counts {
		for filled < n {
			scopes := make([]string, min(k.piece, n-filled))
			for i := range scopes {
				scopes[i] = k.scope(filled+i, length)
			}
			h.fill(scopes)
			filled += len(scopes)
		}
		h.verify(func(i int) string { return k.scope(i, length) }, n)
		var grown []float64
		for i, size := range h.sizes() {
			grown = append(grown, float64(size-before[i])/float64(n))
		}
		each = append(each, grown)
	}
	return each
}

// verify has the library read some of n marks, and one that is not there.
func (h hoard) verify(scope func(i int) string, n int) {
	want := fence.Mark{Token: markToken}
	for _, i := range []int{0, n / 3, n / 2, n - 1, n} {
		if i == n {
			want = fence.Mark{}
		}
		if got, err := h.mark(scope(i)); err != nil || got != want {
			fail.If(errors.Join(err, fmt.Errorf("the mark of scope %d of %d is %+v, want %+v", i, n, got, want)))
		}
	}
}

func claimOf(scope string) fence.Claim { return fence.Claim{Scope: scope, Token: markToken} }

func heap() []int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools keep goes with the second one
	runtime.ReadMemStats(&m)
	return []int64{int64(m.HeapAlloc)}
}

// inHeap is a hoard in the heap of this process, to which raise adds a mark.
func inHeap(raise func(scope string), mark func(scope string) (fence.Mark, error)) hoard {
	fill := func(scopes []string) {
		for _, scope := range scopes {
			raise(scope)
		}
	}
	return hoard{fill, mark, heap, func() {}}
}

func openRegister(*bench) hoard {
	r := new(fence.Register)
	nothing := func(context.Context) error { return nil }
	return inHeap(
		func(scope string) { fail.If(r.Do(context.Background(), claimOf(scope), nothing)) },
		func(scope string) (fence.Mark, error) { return r.Mark(scope), nil })
}

// raise raises the mark of a scope by a read of a key that is not there: the mark is all that is kept.
func raise(e kv.Engine, scope string) {
	_, err := e.Read(context.Background(), kv.Request{Claim: claimOf(scope)}, scope)
	if !errors.Is(err, kv.ErrNotFound) {
		fail.If(fmt.Errorf("a key that is not there: %w", err))
	}
}

func openMemory(*bench) hoard {
	m := kv.NewMemory(kv.Options{})
	return inHeap(
		func(scope string) { raise(m, scope) },
		func(scope string) (fence.Mark, error) { return m.Mark(context.Background(), scope) })
}

// used is what is used of a file of bbolt.
func used(db *bbolt.DB) (size []int64) {
	fail.If(db.Update(func(*bbolt.Tx) error { return nil })) // pages that wait for this become free
	free := int64(db.Stats().FreePageN + db.Stats().PendingPageN)
	fail.If(db.View(func(tx *bbolt.Tx) error {
		size = []int64{tx.Size() - free*int64(db.Info().PageSize)}
		return nil
	}))
	return size
}

func openBolt(b *bench) hoard {
	db := fail.Must(bbolt.Open(filepath.Join(b.group.Dir, "marks"), 0o600, &bbolt.Options{FreelistType: bbolt.FreelistMapType, NoSync: true}))
	return hoard{
		fill: func(scopes []string) {
			fail.If(db.Update(func(tx *bbolt.Tx) error {
				for _, scope := range scopes {
					fail.If(fencebolt.Do(tx, claimOf(scope), func() error { return nil }))
				}
				return nil
			}))
		},
		mark: func(scope string) (m fence.Mark, err error) {
			err = db.View(func(tx *bbolt.Tx) error {
				m, err = fencebolt.Mark(tx, scope)
				return err
			})
			return m, err
		},
		sizes: func() []int64 { return used(db) },
		end:   func() { fail.If(db.Close()) },
	}
}

// openBoltEngine opens a storage's file again and again: by the engine, and to look at it without.
func openBoltEngine(b *bench) hoard {
	dir := filepath.Join(b.group.Dir, "engine")
	engine := func(do func(e *kv.Bolt)) {
		e := fail.Must(kv.OpenBolt(dir, kv.Options{}))
		do(e)
		fail.If(e.Close())
	}
	engine(func(*kv.Bolt) {})
	return hoard{
		fill: func(scopes []string) {
			engine(func(e *kv.Bolt) {
				eachOnce(boltWriters, len(scopes), func(i int) { raise(e, scopes[i]) })
			})
		},
		mark: func(scope string) (m fence.Mark, err error) {
			engine(func(e *kv.Bolt) { m, err = e.Mark(context.Background(), scope) })
			return m, err
		},
		sizes: func() []int64 {
			files := fail.Must(filepath.Glob(filepath.Join(dir, "*.db")))
			db := fail.Must(bbolt.Open(files[0], 0o600, nil))
			size := used(db)
			fail.If(db.Close())
			return size
		},
		end: func() {},
	}
}

// openEtcd puts many marks with a Txn, as fenceetcd stores them.
func openEtcd(b *bench) hoard {
	s := b.launch(startEtcd)
	client, end := dialEtcd(s.addr)
	mark := binary.BigEndian.AppendUint64(nil, uint64(markToken))
	mark = binary.BigEndian.AppendUint64(mark, 0)
	return hoard{
		fill: func(scopes []string) {
			var g errgroup.Group
			for piece := range slices.Chunk(scopes, etcdTxnOps) {
				begin(&g, func() {
					var puts []clientv3.Op
					for _, scope := range piece {
						puts = append(puts, clientv3.OpPut(fenceetcd.Prefix+scope, string(mark)))
					}
					fail.Must(client.Txn(context.Background()).Then(puts...).Commit())
				})
			}
			fail.If(g.Wait())
		},
		mark:  func(scope string) (fence.Mark, error) { return fenceetcd.Mark(context.Background(), client, scope) },
		sizes: func() []int64 { return []int64{etcdFile(client), memoryOf(s, "RssAnon")} },
		end:   end,
	}
}

// etcdFile is what is used of etcd's file, after etcd has let go of what was overwritten.
func etcdFile(client *clientv3.Client) int64 {
	ctx := context.Background()
	now := fail.Must(client.Get(ctx, "now"))
	fail.Must(client.Compact(ctx, now.Header.Revision, clientv3.WithCompactPhysical()))
	fail.Must(client.Defragment(ctx, client.Endpoints()[0]))
	return fail.Must(client.Status(ctx, client.Endpoints()[0])).DbSizeInUse
}

// openRedis pipelines the commands by which the script of fenceredis stores a mark.
func openRedis(b *bench) hoard {
	client, end := dialRedis(b.launch(startRedis).addr)
	store := fenceredis.Store{Client: client}
	return hoard{
		fill: func(scopes []string) {
			fail.Must(client.Pipelined(context.Background(), func(p redis.Pipeliner) error {
				for _, scope := range scopes {
					p.Set(context.Background(), "fence.mark:"+fenceredis.Tag(scope), markToken.String(), 0)
				}
				return nil
			}))
		},
		mark:  func(scope string) (fence.Mark, error) { return store.Mark(context.Background(), scope) },
		sizes: func() []int64 { return []int64{redisMemory(client)} },
		end:   end,
	}
}

// redisMemory is what Redis allocated, its clients' buffers left out.
func redisMemory(client *redis.Client) int64 {
	info := fail.Must(client.Info(context.Background(), "memory").Result())
	bytes := func(name string) int64 {
		return fail.Must(strconv.ParseInt(first(`(?m)^`+name+`:(\d+)`, []byte(info), nil, ""), 10, 64))
	}
	return bytes("used_memory") - bytes("mem_clients_normal")
}

func (d *database) openMarks(b *bench) hoard {
	db, end := dialDatabase(b.launch(d.start).addr)
	store := &fencesql.Store{DB: db, Dialect: d.fences}
	fail.If(store.Create(context.Background()))
	insert := func(rows int) string {
		row := fmt.Sprintf(", (?, %d, 0, 0)", markToken)
		return d.statement("INSERT INTO fence_marks (scope, token, sequence, shared) VALUES " + strings.Repeat(row, rows)[len(", "):])
	}
	const most = 1000 // rows of a statement
	return hoard{
		fill: func(scopes []string) {
			tx := fail.Must(db.Begin())
			defer tx.Rollback()
			for piece := range slices.Chunk(scopes, most) {
				var args []any
				for _, scope := range piece {
					args = append(args, []byte(scope))
				}
				fail.Must(tx.Exec(insert(len(piece)), args...))
			}
			fail.If(tx.Commit())
		},
		mark:  func(scope string) (fence.Mark, error) { return store.Mark(context.Background(), scope) },
		sizes: func() []int64 { return []int64{d.sizeOf(db, "fence_marks")} },
		end:   end,
	}
}

// sizeOf is the size of a table, with its index.
func (d *database) sizeOf(db *sql.DB, table string) (size int64) {
	fail.If(db.QueryRow(strings.ReplaceAll(d.size, "TABLE", table)).Scan(&size))
	return size
}
