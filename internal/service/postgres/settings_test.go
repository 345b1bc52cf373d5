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
		{"", "by: for-update, unlock: delete"}:       `for-update has an unlock of its own: leave "unlock" out`,
		{"", "by: token, give-up: leave"}:            `token has no request that waits in the database: it asks again and again. Leave "give-up" out`,
		{"", "by: int-lock, lock-timeout: 1s"}:       `int-lock has no request that waits in the database: it asks again and again. Leave "lock-timeout" out`,
		{"pool: 2", ""}:                              `there is no pgbouncer: want "pooler: transaction", or leave "pool" out`,
		{"", "by: int-lock, collector: g1"}:          `int-lock runs in no JVM: leave "collector" out`,
		{"", "by: java/spring-jdbc, unlock: delete"}: `java/spring-jdbc has an unlock of its own: leave "unlock" out`,
		{"", "through: server"}:                      `there is no pgbouncer: want "pooler: transaction", or leave "through" out`,
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
