package etcd

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/etcd/etcdserver"
	"github.com/fencelab/fencelab/pkg/fence"
)

func settingsWith(chosen setting.Values) setting.Values {
	s, err := setting.Complete(slices.Concat(setting.Client, clientSettings), chosen)
	if err != nil {
		panic(err)
	}
	return s
}

func dial(t *testing.T, endpoint string, chosen setting.Values) service.Client {
	t.Helper()
	c, err := Dial(service.Options{Endpoints: []string{endpoint}, Settings: settingsWith(chosen)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(t.Context()) })
	return c
}

// TestPlaceOfAReader: it has its name before the grant, and cannot be unlocked.
func TestPlaceOfAReader(t *testing.T) {
	t.Parallel()
	server, err := etcdserver.Start(etcdserver.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	writer := dial(t, server.Endpoint(), setting.Values{setting.TTL: "60s"})
	reader := dial(t, server.Endpoint(), setting.Values{setting.Mode: setting.ModeShared, setting.TTL: "60s"})
	held, err := writer.Lock(t.Context(), "/lock", "")
	if err != nil {
		t.Fatal(err)
	}
	place, err := reader.Enqueue(t.Context(), "/lock")
	if err != nil {
		t.Fatal(err)
	}
	g, name, session := place.Grant(), place.Name(), place.Session()
	if token, _ := place.Shown(); g.Mode != fence.Shared || g.Token <= held.Grant().Token || token != g.Token || !strings.HasPrefix(g.Owner, "/lock/"+session+"-") {
		t.Errorf("the place is %+v of session %s", g, session)
	}
	if err := place.Unlock(t.Context()); err == nil || place.Err() != nil || service.IsClosed(place.Done()) {
		t.Errorf("a place that waits: unlocked with %v, over with %v", err, place.Err())
	}
	if err := held.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-place.Granted(); err != nil {
		t.Fatal(err)
	}
	if place.Grant() != g || place.Name() != name || place.Session() != session {
		t.Errorf("the place %+v was granted as %+v", g, place.Grant())
	}
	other, err := reader.TryLock(t.Context(), "/lock", "")
	if err != nil {
		t.Fatalf("beside a reader: %v", err)
	}
	if err := other.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if err := place.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
	if !service.IsClosed(place.Done()) || place.Err() != nil {
		t.Errorf("unlocked, and over with %v", place.Err())
	}
}

// TestSettingsOfAReader: what does not go with its mode is refused.
func TestSettingsOfAReader(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		chosen setting.Values
		want   string
	}{
		{setting.Values{setting.Session: sessionKept}, `session is "kept": `},
		{setting.Values{setting.Look: lookFirst}, `look is "first": `},
		{setting.Values{setting.Look: lookIsOwner}, `look is "is-owner": `},
		{setting.Values{setting.Numbered: "true"}, `numbered is "true": `},
		{setting.Values{setting.Numbered: "true", setting.Claims: setting.ClaimsExclusive}, ""},
		{setting.Values{setting.Look: setting.LookSession}, ""},
	} {
		tt.chosen[setting.Mode] = setting.ModeShared
		c, err := Dial(service.Options{Endpoints: []string{"127.0.0.1:1"}, Settings: settingsWith(tt.chosen)})
		if err == nil {
			_ = c.Close(t.Context())
		}
		if got := message(err); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%v: %q, want %q", tt.chosen, got, tt.want)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
