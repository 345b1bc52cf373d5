package setting_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/fencelab/fencelab/internal/scenario/setting"
)

var list = append([]setting.Setting{
	{Name: "rounds", Kind: setting.Number, Default: "3"},
	{Name: "session", Default: "own", Pattern: `^[a-z]+$`, Want: "own, kept or a name"},
}, setting.Client...)

func TestFlagsAreCompleted(t *testing.T) {
	t.Parallel()
	chosen := make(setting.Values)
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, s := range list {
		f.Var(&setting.Value{Setting: s, Values: chosen}, s.Name, s.About)
	}
	if err := f.Parse([]string{"--ttl", "2m", "--numbered=true", "--session", "kept"}); err != nil {
		t.Fatal(err)
	}
	v, err := setting.Complete(list, chosen)
	if err != nil {
		t.Fatal(err)
	}
	if v.Time(setting.TTL) != 2*time.Minute || !v.Flag(setting.Numbered) || v.Text("session") != "kept" {
		t.Errorf("%v, want what was chosen", v)
	}
	if v.Time(setting.Timeout) != 5*time.Second || v.Number("rounds") != 3 || v.Text(setting.Scope) != setting.ScopeLock {
		t.Errorf("%v, want the defaults of the rest", v)
	}
	if flag := f.Lookup(setting.Scope); flag.DefValue != "lock" || flag.Value.Type() != "lock|key" {
		t.Errorf("--scope is a %s with the default %q", flag.Value.Type(), flag.DefValue)
	}
}

func TestCompleteRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, want string }{
		{setting.Scope, "keys", `scope is "keys", want lock, key`},
		{setting.TTL, "1500ms", `ttl is "1500ms", want a duration in whole seconds, like 1s`},
		{setting.Timeout, "0s", `timeout is "0s", want a duration, like 5s or 500ms`},
		{setting.Delay, "-1s", `delay is "-1s", want a duration`},
		{setting.Numbered, "maybe", "want true or false"},
		{"rounds", "many", "want a whole number"},
		{"session", "client 1", "want own, kept or a name"},
		{"color", "red", "no such setting"},
	} {
		if _, err := setting.Complete(list, setting.Values{c.name: c.value}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s=%s: %v, want %s", c.name, c.value, err, c.want)
		}
	}
}
