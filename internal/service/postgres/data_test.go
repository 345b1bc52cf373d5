package postgres_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service/postgres"
)

// TestCompares: a lock's UPDATE compares nothing, and that of a version or a status does
// unless it is told not to.
func TestCompares(t *testing.T) {
	for _, tt := range []struct {
		by, compare string
		want        bool
	}{
		{"version", "true", true}, {"status", "true", true},
		{"version", "false", false}, {"for-update", "true", false},
	} {
		client := scenario.Client{Values: setting.Values{"by": tt.by, "compare": tt.compare}}
		if got := postgres.Service().Compares(client); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// TestDataInTheService: settings and steps that make no sense there are refused, with what
// to do.
func TestDataInTheService(t *testing.T) {
	const noStorage = "the data lies in postgres: there is no storage to send to, and nothing can be done to one"
	for _, tt := range []struct{ storage, client, step, want string }{
		{"fencing: on", "by: version", "lock", `version compares the row that has the data: it needs "storage: {in: service}"`},
		{"in: service", "by: token, compare: false", "lock", `token compares nothing: leave "compare" out`},
		{"fencing: off", "by: for-update, writes: outside", "lock", `no write is part of a transaction of the database where the data does not lie there: it needs "storage: {in: service}"`},
		{"in: service", "by: advisory, writes: outside", "lock", `advisory is no lock of a transaction: each write is a transaction of its own. Leave "writes" out`},
		{"in: service", "by: version, writes: outside", "lock", `version is no lock of a transaction`},
		{"in: service, engine: bolt", "by: version", "lock", `there is no storage that has a setting "engine": leave it out`},
		{"in: service, fencing: off", "by: version", "lock", `there is no storage that has a setting "fencing": leave it out`},
		{"in: service, bound: issuer", "by: version", "lock", `there is no storage that has a setting "bound": leave it out`},
		{"in: service", "by: version, scope: key", "lock", `the data lies in postgres, which has no marks: leave "scope" out`},
		{"in: service", "by: version, numbered: true", "lock", `the data lies in postgres, which has no marks: leave "numbered" out`},
		{"in: service", "by: version", "send write a=1", noStorage},
		{"in: service", "by: version", "lock\n  - gcsim: kill storage", noStorage},
		{"in: service", "by: version", "lock\n  - gcsim: deafen client1 to storage", noStorage},
	} {
		file := "title: t\nworld: {postgres: {}, storage: {" + tt.storage + "}}\nclients:\n  client1: {lock: /lock, " + tt.client + "}\n" +
			"steps:\n  - client1: " + tt.step + "\nvariants:\n  v: {expect: {verdict: safe}}\n"
		if _, err := lab.Language(services).Parse("x.yaml", "x", []byte(file)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

// TestBoundsOfReaders: nobody waits for a tenure that keeps nobody out, so no time bounds it.
func TestBoundsOfReaders(t *testing.T) {
	clients := map[string]scenario.Client{}
	for _, by := range []string{"token", "version", "status"} {
		clients[by] = scenario.Client{Values: setting.Values{"by": by, setting.TTL: "1s", "ahead": "0s"}}
	}
	bounds, _ := postgres.Service().Bounds(setting.Values{"idle": "0s"}, clients)
	if len(bounds) != 1 || bounds["token"] == 0 {
		t.Errorf("got %v, want a bound of token alone", bounds)
	}
}
