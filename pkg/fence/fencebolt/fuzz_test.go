package fencebolt

import (
	"bytes"
	"testing"

	"github.com/fencelab/fencelab/pkg/fence"
)

// FuzzDecode: any bytes in the file are a mark that would be written so, or an
// error; a damaged mark must not be taken for none.
func FuzzDecode(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, markSize))
	f.Add(encode(fence.Mark{Token: 34, Sequence: 2}))
	f.Add(bytes.Repeat([]byte{255}, markSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decode("scope", b)
		switch {
		case b == nil: // nothing is there
		case err != nil && m != fence.Mark{}:
			t.Fatalf("%x: %+v with %v", b, m, err)
		case err == nil && (!m.Token.Valid() || m.Sequence < 0 || !bytes.Equal(encode(m), b)):
			t.Fatalf("%x was taken as %+v", b, m)
		}
	})
}
