package fenceetcd

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/fencelab/fencelab/pkg/fence"
)

// What this package keeps: for each scope, by its name, the exclusive mark below
// Prefix and the shared one below SharedPrefix, and the floor at FloorKey. Values
// are token and sequence as two big-endian 64-bit numbers. A shared mark has no
// sequence, and goes when a later exclusive one comes.
const (
	Prefix       = "fence.marks/"
	SharedPrefix = "fence.shared/"
	FloorKey     = "fence.floor"
)

const markSize = 16 // bytes

func key(scope string) string { return Prefix + scope }

func sharedKey(scope string) string { return SharedPrefix + scope }

// encode writes token and sequence as two big-endian 64-bit numbers. Neither is
// negative, so that the order of the bytes is the order of the marks.
func encode(m fence.Mark) string {
	b := make([]byte, 0, markSize)
	b = binary.BigEndian.AppendUint64(b, uint64(m.Token))
	return string(binary.BigEndian.AppendUint64(b, uint64(m.Sequence)))
}

// Decode reads the mark or floor in a key of this package, and refuses what it
// cannot have written. Of a key below SharedPrefix it is a mark with Shared alone.
func Decode(kv *mvccpb.KeyValue) (fence.Mark, error) {
	if len(kv.Value) != markSize {
		return fence.Mark{}, fmt.Errorf("fenceetcd: %q has %d bytes, want %d: it is damaged or not of this format", kv.Key, len(kv.Value), markSize)
	}
	m := fence.Mark{
		Token:    fence.Token(binary.BigEndian.Uint64(kv.Value)),
		Sequence: int64(binary.BigEndian.Uint64(kv.Value[8:])),
	}
	shared := strings.HasPrefix(string(kv.Key), SharedPrefix)
	if !m.Token.Valid() || m.Sequence < 0 || shared && m.Sequence != 0 {
		return fence.Mark{}, fmt.Errorf("fenceetcd: %q is %+v: it is damaged", kv.Key, m)
	}
	if shared {
		return fence.Mark{Shared: m.Token}, nil
	}
	return m, nil
}

// last is the highest mark that a tenure can have.
func last(t fence.Token) fence.Mark { return fence.Mark{Token: t, Sequence: math.MaxInt64} }

// above asks whether the mark at key is above m. No mark is not.
func above(key string, m fence.Mark) clientv3.Cmp {
	return clientv3.Compare(clientv3.Value(key), ">", encode(m))
}

// get reads all that the mark of scope depends on, for effective.
func get(scope string) []clientv3.Op {
	return []clientv3.Op{clientv3.OpGet(key(scope)), clientv3.OpGet(sharedKey(scope)), clientv3.OpGet(FloorKey)}
}

// effective is the mark that a scope's marks and the floor make.
func effective(scope string, found []*pb.ResponseOp) (fence.Mark, error) {
	var m fence.Mark
	for _, f := range found {
		for _, kv := range f.GetResponseRange().GetKvs() {
			next, err := Decode(kv)
			if err != nil {
				return fence.Mark{}, fmt.Errorf("scope %q: %w", scope, err)
			}
			m = m.Max(next)
		}
	}
	return m, nil
}
