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
	f.Add(encode(fence.Mark{Shared: 7}))
	f.Add(append(encode(fence.Mark{Token: 34}), make([]byte, sharedSize-markSize)...))
	f.Add(bytes.Repeat([]byte{255}, markSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decode("scope", b, false)
		switch {
		case b == nil: // nothing is there
		case err != nil && m != fence.Mark{}:
			t.Fatalf("%x: %+v with %v", b, m, err)
		case err == nil && (!m.Highest().Valid() || m != m.Max(fence.Mark{}) || m.Sequence < 0 || !bytes.Equal(encode(m), b)):
			t.Fatalf("%x was taken as %+v", b, m)
		}
	})
}

// TestEncoding: marks without a shared one are as they always were.
func TestEncoding(t *testing.T) {
	for want, m := range map[string]fence.Mark{
		"\x00\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x00\x00\x00\x03":                                 {Token: 258, Sequence: 3},
		"\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x01\x02": {Token: 5, Sequence: 3, Shared: 258},
	} {
		if got := string(encode(m)); got != want {
			t.Errorf("%+v is %x, want %x", m, got, want)
		}
		if got, err := decode("scope", []byte(want), false); err != nil || got != m {
			t.Errorf("%x is %+v, %v, want %+v", want, got, err, m)
		}
	}
}
