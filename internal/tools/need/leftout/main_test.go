package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// TestMain makes the test's program one that runs tests, too.
func TestMain(m *testing.M) {
	if os.Getenv("LEFTOUT_TESTS") == "" {
		os.Exit(m.Run())
	}
	m.Run()
	os.Exit(3)
}

// TestOfTheCommand does something only where TestRun runs it.
func TestOfTheCommand(t *testing.T) {
	if os.Getenv("LEFTOUT_TESTS") == "some" {
		need.Missing(t, "luck", "to win", "a clover")
	}
}

// TestRun: the summary comes last, and the command's exit status is kept.
func TestRun(t *testing.T) {
	t.Setenv(need.Require, "")
	for tests, want := range map[string]string{
		"all":  "No test was left out for want of a program or a permission.\n",
		"some": "Left out (FENCELAB_REQUIRE=all makes it a failure):\n  for want of luck: a clover\n    leftout TestOfTheCommand\n",
	} {
		t.Setenv("LEFTOUT_TESTS", tests)
		var out strings.Builder
		status, err := run([]string{os.Args[0], "-test.run", "^TestOfTheCommand$"}, &out, io.Discard)
		if status != 3 || err != nil {
			t.Errorf("%s: status %d, %v, want 3", tests, status, err)
		}
		if !strings.HasSuffix(out.String(), "PASS\n\n"+want) {
			t.Errorf("%s: it prints\n%s\nwant at its end\n%s", tests, out.String(), want)
		}
	}
	if _, err := run([]string{"no-such-command"}, io.Discard, io.Discard); err == nil {
		t.Error("a command that is not there: no error")
	}
}

// TestAgain: each test of a package is named once, by its first name.
func TestAgain(t *testing.T) {
	name := t.TempDir() + "/account"
	account := `{"Test":"b TestB/of/it","Dir":"/b","What":"strace","Remedy":"apt-get install strace"}
{"Test":"b TestA","Dir":"/b","What":"curl","Remedy":"zypper install curl"}
{"Test":"a TestA","Dir":"/a","What":"curl","Remedy":"zypper install curl"}
`
	if err := os.WriteFile(name, []byte(account), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := again(name, &out); err != nil {
		t.Fatal(err)
	}
	if want := "-run=^(TestA)$ /a\n-run=^(TestA|TestB)$ /b\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestSummary(t *testing.T) {
	all, err := read(strings.NewReader(`{"Test":"b TestB","What":"strace","Remedy":"apt-get install strace"}
{"Test":"c TestC","What":"curl","Remedy":"zypper install curl"}
{"Test":"a TestA","What":"strace","Remedy":"apt-get install strace"}
{"Test":"b TestB","What":"strace","Remedy":"apt-get install strace"}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := `Left out (FENCELAB_REQUIRE=all makes it a failure):
  for want of curl: zypper install curl
    c TestC
  for want of strace: apt-get install strace
    a TestA
    b TestB
`
	if got := summary(all); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if _, err := read(strings.NewReader(`{"Test":"b Te`)); err == nil {
		t.Error("an account that is broken off: no error")
	}
}
