package custom_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/custom"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// services are the one of these tests.
var services = []*service.Service{custom.Service()}

// The test binary is its own storage and janitor.
func TestMain(m *testing.M) {
	proctest.Play(lab.Roles(services)...)
	os.Exit(m.Run())
}

// story is one with a world and a client. Its first line is that of the world.
func story(world, client string) []byte {
	return fmt.Appendf(nil, "world: {%s}\nclients:\n  client1: {%s}\ntitle: t\nsteps: [{client1: lock}]\nvariants: {only: {control: true, expect: {verdict: corrupted}}}\n", world, client)
}

// TestWords: a scenario that cannot be is refused where it stands.
func TestWords(t *testing.T) {
	const client = "lock: /lock, command: [sleep, '100']"
	for _, tt := range []struct{ world, client, want string }{
		{"custom: {command: 'x {addr}'}", client, ""},
		{"custom: {command: 'x {port}'}", client, ""},
		{"custom: {}", client, "a lock service of your own needs a command"},
		{"custom: {command: x}", client, `t.yaml:1:27: "command": want a line for sh with {addr} or {port}`},
		{"custom: {command: 'x {addr}'}", "lock: /lock", `t.yaml:3:19: gcsim has no client for a lock service of your own: give it a "command"`},
		{"custom: {command: 'x {addr}'}, storage: {bound: issuer}", client, "cannot ask custom for the last token"},
		{"custom: {command: 'x {addr}'}", client + ", token: any", "granted"},
	} {
		_, err := lab.Language(services).Parse("t.yaml", "t", story(tt.world, tt.client))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s, %s: %v, want %q", tt.world, tt.client, err, tt.want)
		}
	}
}

// TestNothingIsJoined: a lock service that is there already has no account.
func TestNothingIsJoined(t *testing.T) {
	s, err := lab.Language(services).Parse("t.yaml", "t", story("custom: {command: 'x {addr}'}", "lock: /lock, command: [sleep, '100']"))
	if err != nil {
		t.Fatal(err)
	}
	const want = "gcsim has to start it"
	if _, err := lab.Run(t.Context(), s, &s.Variants[0], lab.Options{Services: services, Exe: os.Args[0], Endpoints: []string{proctest.Nobody(t)}}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a run with an address: %v, want %q", err, want)
	}
	if err := custom.Service().Reach(t.Context(), []string{proctest.Nobody(t)}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("an address: %v, want %q", err, want)
	}
	if _, _, err := custom.Service().At("here"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a place: %v, want %q", err, want)
	}
}

// TestCommandsThatCannotBe: the error of a run names the command, and what it did. The client
// says nothing, so that nothing else ends the run.
func TestCommandsThatCannotBe(t *testing.T) {
	need.Program(t, "sh", "to run a lock service by a command")
	for want, command := range map[string]string{
		"ended (exit status 3); it last said:\nno such disk": "sh -c 'echo no such disk >&2; exit 3' {addr}",
		"ended (": "true {addr}",
	} {
		s, err := lab.Language(services).Parse("t.yaml", "t", story(fmt.Sprintf("custom: {command: %q}", command), "lock: /lock, command: [sleep, '100']"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = lab.Run(t.Context(), s, &s.Variants[0], lab.Options{Services: services, Exe: os.Args[0], Patience: time.Minute})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Count(err.Error(), "custom ("+strings.Split(command, "{")[0]) != 1 {
			t.Errorf("%q: %v, want %q", command, err, want)
		}
	}
}
