package storagecmd

import (
	"errors"

	"github.com/fencelab/fencelab/internal/storage/kv"
)

// fencing is a flag that says how tokens are checked, as scenarios spell it. The zero value is as fencingOn.
type fencing string

const (
	fencingOn        fencing = "on"
	fencingOff       fencing = "off"
	fencingDiffers   fencing = fencing(kv.FlawDiffers)
	fencingForgetful fencing = fencing(kv.FlawForgetful)
)

// warnings are what is wrong with a storage that checks tokens so.
var warnings = map[fencing]string{
	fencingOff:       "fencing is off: stale writes are admitted",
	fencingDiffers:   "fencing is flawed on purpose: newer tokens are refused, too",
	fencingForgetful: "fencing is flawed on purpose: a delete drops the mark of its scope, and then stale writes are admitted",
}

func (f *fencing) String() string { return string(*f) }

func (f *fencing) Set(s string) error {
	v := fencing(s)
	if _, wrong := warnings[v]; !wrong && v != fencingOn {
		return errors.New(`want "on" or "off", or with the engine memory "differs" or "forgetful"`)
	}
	*f = v
	return nil
}

func (*fencing) Type() string { return "on|off|differs|forgetful" }

// flaw is the engine's; empty where it has none.
func (f fencing) flaw() kv.Flaw {
	if f == fencingDiffers || f == fencingForgetful {
		return kv.Flaw(f)
	}
	return ""
}
