package laws_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/outside/laws"
	"github.com/fencelab/fencelab/internal/report/ci"
	"github.com/fencelab/fencelab/internal/tools/need"
)

// broken is a report of a storage that loses its mark on a delete.
func broken(t *testing.T) laws.Report {
	t.Helper()
	return report(t, laws.Options{
		URLs: serve(t, newTiny(holeOf("the mark is lost on delete"))),
		Only: []string{"EqualTokenAdmitted", "DeleteKeepsMark", "SequenceOrders"},
	})
}

// TestSpeaksNamesDurability, where that is known.
func TestSpeaksNamesDurability(t *testing.T) {
	for want, s := range map[string]laws.Speaks{
		", with batches": {Batch: true},
		", without batches, and keeps its data when it is killed": {Killed: true, Durable: true},
		", without batches, and loses its data when it is killed": {Killed: true},
	} {
		if got := s.String(); !strings.HasSuffix(got, want) {
			t.Errorf("it says %q, want %q at the end", got, want)
		}
	}
}

func TestText(t *testing.T) {
	r := broken(t)
	var out strings.Builder
	for _, law := range r.Results {
		if err := law.Text(&out); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"holds      EqualTokenAdmitted          Equal tokens are one tenure",
		"left out   SequenceOrders              the store ignores sequence numbers\n",
		"FAILS      DeleteKeepsMark             Deleting a key does not lower the mark",
		"back from the dead with token 33 in the scope lock-a: was admitted",
		`Fencing-Token: 33 "back from the dead" -> 204`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, &out)
		}
	}
}

// TestShellSeesItAgain: the lines for a shell are answered as the law's requests were,
// though the storage has seen their tokens.
func TestShellSeesItAgain(t *testing.T) {
	need.Programs(t, "to make the requests of a broken law again", "sh", "curl")
	for _, law := range broken(t).Results {
		if law.Outcome != laws.Fails {
			continue
		}
		sh := exec.CommandContext(t.Context(), "sh", "-c", "RANDOM=$$; "+strings.Join(law.Again, "\n"))
		out, err := sh.Output()
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		for _, e := range law.Requests {
			want += fmt.Sprintf("%s -> %d\n", e.Answer, e.Status)
		}
		if string(out) != want || !strings.HasSuffix(want, "-> 204\n") {
			t.Errorf("the shell says\n%swant\n%sof\n%s", out, want, strings.Join(law.Again, "\n"))
		}
	}
}

// TestShellStartsItAgain: a storage that a command ran has ended when its report is read, and the lines start it again.
func TestShellStartsItAgain(t *testing.T) {
	need.Programs(t, "to start a storage again", "sh", "curl")
	t.Setenv("TMPDIR", t.TempDir())
	r := report(t, laws.Options{Commands: []string{command(t, "the mark is lost on delete")}, Only: []string{"DeleteKeepsMark"}}).Results[0]
	sh := exec.CommandContext(t.Context(), "sh", "-c", "RANDOM=$$; "+strings.Join(r.Again, "\n")+"\nkill -9 $!")
	out, err := sh.Output()
	if err != nil || !strings.HasSuffix(string(out), " -> 204\n") || len(r.Requests) == 0 || strings.Count(string(out), " -> ") != len(r.Requests) {
		t.Errorf("the shell says %v\n%sof\n%s", err, out, strings.Join(r.Again, "\n"))
	}
}

// TestProgress: of a law that takes long one is told, with the time that is left.
func TestProgress(t *testing.T) {
	t.Parallel()
	said := make(chan string, 1)
	told := func(text string) {
		if strings.Contains(text, "left") { // else nothing was asked since the time before
			select {
			case said <- text:
			default:
			}
		}
	}
	report(t, laws.Options{
		Only: []string{"TimeKeepsMark", "CheckAndWriteAreOneStep"}, Every: 20 * time.Millisecond, Progress: told,
		URLs: serve(t, newTiny(nil)),
	})
	told("nothing was left to say")
	if got := <-said; !regexp.MustCompile(`^CheckAndWriteAreOneStep: \d+ requests in \d+s; at this pace [\dms]+ are left`).MatchString(got) {
		t.Errorf("it says %q", got)
	}
}

func TestReportsForMachines(t *testing.T) {
	r := broken(t)
	var out bytes.Buffer
	if err := r.JSON(&out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		OK      bool
		Summary string
		Speaks  map[string]any
		Laws    []struct{ Law, Outcome string }
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.OK || got.Summary != "laws: 1 held, 1 failed, 1 left out, 0 not judged" || got.Speaks["protocol"] != "/v1" || len(got.Laws) != 3 {
		t.Errorf("got %+v", got)
	}
	out.Reset()
	if err := ci.JUnit(&out, r.Story()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`tests="3" failures="1" errors="0" skipped="1"`, `name="DeleteKeepsMark"`, "was admitted", "curl -sS"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("want %q in\n%s", want, &out)
		}
	}
}
