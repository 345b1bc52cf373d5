package fenceetcd

import (
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/fencelab/fencelab/pkg/fence"
)

// FuzzDecode: whatever is in the key of a mark is an error, or a mark that is
// written as it was.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(encode(fence.Mark{Token: 34, Sequence: 7})))
	f.Add([]byte(encode(fence.Mark{Token: 1<<63 - 1})))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, value []byte) {
		if m, err := Decode(&mvccpb.KeyValue{Key: []byte(sharedKey("/lock")), Value: value}); err == nil {
			if !m.Shared.Valid() || encode(fence.Mark{Token: m.Shared}) != string(value) {
				t.Errorf("%x became %+v", value, m)
			}
		}
		m, err := Decode(&mvccpb.KeyValue{Key: []byte(key("/lock")), Value: value})
		if err == nil && (encode(m) != string(value) || !m.Token.Valid() || m.Sequence < 0) {
			t.Errorf("%x became %+v", value, m)
		}
	})
}
