package postgres_test

import (
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/service/postgres"
)

// TestSettingsThatDoNotGoTogether: each is refused, with what to do.
func TestSettingsThatDoNotGoTogether(t *testing.T) {
	for settings, want := range map[[2]string]string{
		{"", "by: for-update, unlock: delete"}:                `for-update has an unlock of its own: leave "unlock" out`,
		{"", "by: token, give-up: leave"}:                     `token has no request that waits in the database: it asks again and again. Leave "give-up" out`,
		{"", "by: int-lock, lock-timeout: 1s"}:                `int-lock has no request that waits in the database: it asks again and again. Leave "lock-timeout" out`,
		{"pool: 2", ""}:                                       `there is no pgbouncer: want "pooler: transaction", or leave "pool" out`,
		{"", "by: int-lock, collector: g1"}:                   `int-lock runs in no JVM: leave "collector" out`,
		{"", "by: java/spring-jdbc, unlock: delete"}:          `java/spring-jdbc has an unlock of its own: leave "unlock" out`,
		{"standby: synchronous, pooler: session", ""}:         `a pgbouncer stands before one server, and here another one can lead: leave "standby" out`,
		{"", "by: for-update, connection: one"}:               `for-update has no lock of a session: leave "connection" out`,
		{"", "by: advisory, connection: one, give-up: leave"}: `leave "give-up" or "connection" out`,
		{"", "through: server"}:                               `there is no pgbouncer: want "pooler: transaction", or leave "through" out`,
	} {
		file := "title: t\nworld: {postgres: {" + settings[0] + "}, storage: {fencing: off}}\nclients:\n  client1: {lock: /lock, " + settings[1] + "}\n" +
			"steps:\n  - client1: lock\nvariants:\n  v: {expect: {verdict: safe}}\n"
		if _, err := lab.Language(services).Parse("x.yaml", "x", []byte(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", settings, err, want)
		}
	}
}

// TestNoDataOfJava: a client in Java cannot reach data in the database.
func TestNoDataOfJava(t *testing.T) {
	const file = "title: t\nworld: {postgres: {}, storage: {in: service}}\nclients:\n  client1: {lock: /lock, by: java/spring-jdbc}\n" +
		"steps:\n  - client1: lock\nvariants:\n  v: {expect: {verdict: safe}}\n"
	want := `java/spring-jdbc is a client in Java, which reaches a storage by HTTP alone: leave "storage: {in: service}" out`
	if _, err := lab.Language(services).Parse("x.yaml", "x", []byte(file)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestStandby: what a story of a standby cannot be, and what it needs.
func TestStandby(t *testing.T) {
	const promoted = "standby: asynchronous"
	for name, tt := range map[string]struct {
		world, storage string
		steps          []string
		want           string // "": it can be
	}{
		"data that can be lost":     {promoted, "in: service", nil, `leave "storage: {in: service}" out`},
		"none to promote":           {"", "", []string{"promote postgres2"}, `it needs "standby: asynchronous"`},
		"none to isolate":           {"", "", []string{"isolate postgres2"}, `it needs "standby: asynchronous"`},
		"the server is promoted":    {promoted, "", []string{"promote postgres1"}, "the standby is postgres2"},
		"promoted twice":            {promoted, "", []string{"promote postgres2", "promote postgres2"}, "postgres2 is promoted already"},
		"isolated twice":            {promoted, "", []string{"isolate postgres2", "isolate postgres2"}, "postgres2 is isolated already"},
		"isolated anew":             {promoted, "", []string{"isolate postgres2", "heal postgres2", "isolate postgres2"}, ""},
		"healed without cause":      {promoted, "", []string{"heal postgres2"}, "postgres2 is not isolated here"},
		"isolated from the dead":    {promoted, "", []string{"kill postgres1", "isolate postgres2"}, "postgres1 does not run here"},
		"isolated from the stopped": {promoted, "", []string{"pause postgres1", "isolate postgres2"}, "postgres1 does not run here"},
		"promoted from the stopped": {promoted, "", []string{"pause postgres1", "promote postgres2"}, "it needs a step \"gcsim: kill postgres1\" before"},
		"isolated when it leads":    {promoted, "", []string{"promote postgres2", "isolate postgres2"}, "postgres2 is promoted already"},
		"restarted before":          {promoted, "", []string{"kill postgres1", "restart postgres1", "isolate postgres2"}, ""},
		"restarted after":           {promoted, "", []string{"kill postgres1", "promote postgres2", "restart postgres1"}, "postgres1 cannot follow the server that leads now"},
		"the standby is killed":     {promoted, "", []string{"kill postgres2"}, "there is no postgres2"},
	} {
		file := "title: t\nworld: {postgres: {" + tt.world + "}, storage: {" + tt.storage + "}}\nclients: {client1: {lock: /l}}\nsteps:\n  - client1: lock\n"
		for _, step := range tt.steps {
			file += "  - gcsim: " + step + "\n"
		}
		s, err := lab.Language(services).Parse("t.yaml", "t", []byte(file+"variants: {only: {expect: {verdict: safe}}}\n"))
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %s", name, err, tt.want)
		case tt.want == "" && s.Variants[0].Own == "":
			t.Errorf("%s: it needs no server of its own", name)
		}
	}
}

// TestPooled: only a variant with a pooler lacks one where there is none, and needs a server of
// its own.
func TestPooled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, name := range []string{"10-given-up", "11-pooled-session"} {
		for _, s := range services.Parse(t, "../../../scenarios/postgres/"+name+".yaml") {
			v := &s.Variants[0]
			var lacks, own string
			if v.World.Settings.Text("pooler") != "none" {
				lacks = "pgbouncer is missing: apt-get install pgbouncer"
				own = "it puts a pgbouncer before PostgreSQL"
			}
			if got := postgres.Service().Lacks(v); got != lacks {
				t.Errorf("%s/%s lacks %q, want %q", s.Name, v.Name, got, lacks)
			}
			if v.Own != own {
				t.Errorf("%s/%s needs a server of its own because %q, want %q", s.Name, v.Name, v.Own, own)
			}
		}
	}
}
