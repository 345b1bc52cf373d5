// Package kvtest opens every engine of package kv for a test, and crashes it.
package kvtest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/fencelab/fencelab/internal/storage/kv"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/fence/fencetest"
)

// Kind is a kind of engine.
type Kind struct {
	Name string
	// Open opens an empty one, which the end of the test closes.
	Open func(t testing.TB, o kv.Options) kv.Engine
	// Crash opens what a crash of e leaves. Nil: nothing.
	Crash func(t testing.TB, e kv.Engine) kv.Engine
	// Second opens the data of e beside e. Nil: nobody can.
	Second func(t testing.TB, e kv.Engine) kv.Engine
}

// Kinds are all kinds.
var Kinds = []Kind{
	{"memory", func(_ testing.TB, o kv.Options) kv.Engine { return kv.NewMemory(o) }, nil, nil},
	{"bolt", openBolt, crashBolt, nil},
	{"etcd", openEtcd, besideEtcd, besideEtcd}, // it has nothing to lose
}

// Subject shows an engine of kind k to the laws: as show does, from which engine
// takes it back.
func (k Kind) Subject(t testing.TB, show func(kv.Engine) fencetest.Store, engine func(fencetest.Store) kv.Engine) fencetest.Subject {
	s := fencetest.Subject{
		Open: func(context.Context) (fencetest.Store, error) { return show(k.Open(t, kv.Options{})), nil },
		OpenBounded: func(_ context.Context, bound fence.Token) (fencetest.Store, error) {
			return show(k.Open(t, Bounded(bound))), nil
		},
	}
	if k.Crash != nil {
		s.Restart = func(_ context.Context, s fencetest.Store) (fencetest.Store, error) {
			return show(k.Crash(t, engine(s))), nil
		}
	}
	if k.Second != nil {
		s.Second = func(_ context.Context, s fencetest.Store) (fencetest.Store, error) {
			return show(k.Second(t, engine(s))), nil
		}
	}
	return s
}

// Bounded are the options of an engine whose issuer has given out no token over
// bound.
func Bounded(bound fence.Token) kv.Options {
	return kv.Options{Bound: func(fence.Claim) (fence.Token, error) { return bound, nil }}
}

// Found turns the result of an engine's Read into that of a Store of the laws.
func Found(item kv.Item, err error) (string, bool, error) {
	if errors.Is(err, kv.ErrNotFound) {
		return "", false, nil
	}
	return item.Value, err == nil, err
}

// BoltFile is the name of the bolt engine's file.
const BoltFile = "fencelab.db"

// boltDirs remembers where the engines of a test have their files.
var boltDirs sync.Map

func openBolt(t testing.TB, o kv.Options) kv.Engine { return OpenBolt(t, t.TempDir(), o) }

// OpenBolt opens a bolt engine in dir, which the end of the test closes.
func OpenBolt(t testing.TB, dir string, o kv.Options) *kv.Bolt {
	t.Helper()
	e, err := kv.OpenBolt(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	boltDirs.Store(e, dir)
	t.Cleanup(func() {
		boltDirs.Delete(e)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// crashBolt opens a copy of an engine's file as it is on the disk, without a
// Close: what a crash leaves.
func crashBolt(t testing.TB, e kv.Engine) kv.Engine {
	t.Helper()
	from, _ := boltDirs.Load(e)
	b, err := os.ReadFile(filepath.Join(from.(string), BoltFile))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, BoltFile), b, 0o600); err != nil {
		t.Fatal(err)
	}
	return OpenBolt(t, dir, kv.Options{})
}
