package peer_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/platform/cli"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
	"github.com/fencelab/fencelab/pkg/lock"
)

// The test's program is that of a library, too, where it is called so.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "library" {
		os.Exit(playLibrary())
	}
	os.Exit(m.Run())
}

// playLibrary answers as its library would: by what the lock, or the URL, is called.
func playLibrary() int {
	say := func(id, answer string) { fmt.Printf("id=%s&%s\n", id, answer) }
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		asked, err := url.ParseQuery(lines.Text())
		if err != nil {
			return 3
		}
		switch id := asked.Get("id"); asked.Get("op") + " " + asked.Get("lock") + asked.Get("url") {
		case "reach ":
			if os.Getenv("WRONG") != "" {
				return 2
			}
			say(id, "end=ok&queues=true")
		case "lock free":
			say(id, "end=ok&name=mine&token=7")
			if asked.Get("within") != "0" {
				fmt.Println("lost=" + asked.Get("tenure"))
			}
		case "lock taken":
			say(id, "end=no&text=another+has+it")
		case "lock waits":
			// it is answered when it is cancelled
		case "cancel ":
			say(asked.Get("of"), "end=no&text=left")
		case "lock garbage":
			fmt.Println("%zz")
		case "unlock ":
			say(id, "end=over&text=not+yours")
		case "look ":
			say(id, "end=ok&yes=false")
		case "send http://storage/":
			say(id, "end=ok&status=412&header=Fencing-Refused:+stale&body="+asked.Get("method")+asked.Get("body"))
		case "send http://nobody/":
			say(id, "end=ok&refused=nobody+is+there")
		default:
			say(id, "end=unknown&text=who+knows")
		}
	}
	return 0
}

func start(t *testing.T) *peer.Client {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(t.TempDir(), "library")
	if err := os.Symlink(exe, library); err != nil {
		t.Fatal(err)
	}
	settings := setting.Defaults(setting.Client)
	settings[setting.Timeout] = "1m" // for an answer to a lock that is cancelled
	program := peer.Program{Language: "Latin", Command: []string{library}}
	c, err := peer.Start(program, service.Options{Endpoints: []string{"h:1"}, Settings: settings}, setting.Client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// TestOutcomes: what is known by an error is what the process says.
func TestOutcomes(t *testing.T) {
	c := start(t)
	if err := c.Reach(t.Context()); err != nil {
		t.Fatal(err)
	}
	held, err := c.TryLock(t.Context(), "free", "")
	if err != nil || held.Name() != "mine" || held.Grant().Token != 7 {
		t.Fatalf("%v, %v", held, err)
	}
	if _, err := held.Look(t.Context(), "owner"); !errors.As(err, new(service.NotHeld)) {
		t.Errorf("a look says %v", err)
	}
	for want, ask := range map[string]func() error{
		"definite: another has it":                 func() error { _, err := c.TryLock(t.Context(), "taken", ""); return err },
		"unknown: who knows":                       func() error { _, err := c.TryLock(t.Context(), "broken", ""); return err },
		"definite: that tenure is over: not yours": func() error { return held.Unlock(t.Context()) },
	} {
		if err := ask(); err == nil || fmt.Sprintf("%v: %v", fence.OutcomeOf(err), err) != want {
			t.Errorf("%v: %v, want %s", fence.OutcomeOf(err), err, want)
		}
	}
	waiting, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := c.Lock(waiting, "waits", ""); err == nil || err.Error() != "left" {
		t.Errorf("a wait that nobody wants any more ends with %v", err)
	}
}

// TestLoss: a tenure is over when the process says so.
func TestLoss(t *testing.T) {
	c := start(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	held, err := c.Lock(ctx, "free", "")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-held.Done():
	case <-ctx.Done():
		t.Fatal("it is not told of its loss")
	}
	if err := held.Err(); !errors.Is(err, lock.ErrLost) {
		t.Errorf("its loss is %v", err)
	}
}

// TestTransport: requests and answers pass through the process as they are.
func TestTransport(t *testing.T) {
	through := http.Client{Transport: start(t).Transport(true)}
	resp, err := through.Post("http://storage/", "text/plain", strings.NewReader("a=b"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusPreconditionFailed || resp.Header.Get("Fencing-Refused") != "stale" || string(body) != "POSTa=b" {
		t.Errorf("%s %v %q, %v", resp.Status, resp.Header, body, err)
	}
	if resp, err := through.Get("http://nobody/"); err == nil || !strings.Contains(err.Error(), "dial tcp: nobody is there") {
		t.Errorf("%v, %v", resp, err)
	}
}

// TestWrongSettings: the status of a process that lacks the code for a setting is that of the client.
func TestWrongSettings(t *testing.T) {
	t.Setenv("WRONG", "yes")
	c := start(t)
	exit := new(cli.ExitError)
	if err := c.Reach(t.Context()); !errors.As(err, &exit) || exit.Code != 2 {
		t.Errorf("%v, want the status 2", err)
	}
	if err := c.Ended(); err == nil {
		t.Error("it is not told that its process in Latin has ended")
	}
}

// TestGarbage: a process that says what makes no sense is ended, and said to be.
func TestGarbage(t *testing.T) {
	c := start(t)
	if _, err := c.TryLock(t.Context(), "garbage", ""); err == nil || !strings.Contains(err.Error(), `its process in Latin has ended: it says "%zz`) {
		t.Errorf("%v", err)
	}
}
