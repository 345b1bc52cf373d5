package e2e

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// runsOf are the runs that "gcsim run --json" tells of: scenario and variant → verdict, or why
// it was skipped.
func runsOf(t *testing.T, p *process) map[string]string {
	t.Helper()
	var doc struct {
		Runs []struct{ Scenario, Variant, Verdict, Skipped string }
	}
	text := p.output()
	text = text[strings.Index(text, "{"):]
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&doc); err != nil {
		t.Fatalf("%v\n%s", err, p.output())
	}
	runs := make(map[string]string)
	for _, r := range doc.Runs {
		runs[r.Scenario+" "+r.Variant] = r.Verdict + r.Skipped
	}
	return runs
}

// TestScenariosOfStorageInPython: it keeps clients' writes safe in the scenarios that it can
// take part in. All others are left out by name, with the reason.
func TestScenariosOfStorageInPython(t *testing.T) {
	t.Parallel()
	need.Files(t, examples)
	python := need.Program(t, "python3", "to run a storage in Python")
	w := newWorld(t)
	p := w.start("gcsim", "run", "--json", "--storage-command", python+" "+examples+"storage.py --listen {addr} --dir {dir}",
		"gc-pause", "delayed-request", "read-before-fence", "storage-restart", "delete-drops-fence", "holder-crash", "poisoned-token", "late-retry", "readers-and-writers", "sqlite/token-file")
	p.want(0)
	const unchecked, batches = "it wants a storage that checks no tokens (fencing: off)", "a client changes several keys at once, and the storage knows no batches"
	want := map[string]string{
		"01-gc-pause fenced": "safe", "01-gc-pause unfenced": unchecked,
		"04-delayed-request fenced": "safe", "04-delayed-request unfenced": unchecked,
		"07-read-before-fence fenced-reads": "safe", "07-read-before-fence plain-reads": "corrupted",
		"08-storage-restart durable": "safe", "08-storage-restart in-memory": "it wants a storage that loses its data when it is killed (engine: memory)",
		"09-delete-drops-fence kept": "safe", "09-delete-drops-fence dropped": "it wants a storage with a check that is wrong (fencing: forgetful)",
		"11-holder-crash batch": batches, "11-holder-crash one-by-one": "corrupted",
		"18-poisoned-token bound": "it wants a storage that asks etcd which tokens there are (bound: issuer)", "18-poisoned-token no-bound": "blocked",
		"19-late-retry numbered":     "a client numbers its requests, and the storage does not know Fencing-Sequence, Fencing-Duplicate and refusals that name the mark",
		"19-late-retry equal-tokens": "corrupted", "22-readers-and-writers two-marks": "a client shares its lock, and the storage does not know Fencing-Mode: shared",
		"22-readers-and-writers unfenced": unchecked, "22-readers-and-writers one-mark": batches,
	}
	got := runsOf(t, p)
	for run, verdict := range want {
		if got[run] != verdict {
			t.Errorf("%s: %s, want %s", run, got[run], verdict)
		}
	}
	for run, outcome := range got {
		if _, known := want[run]; !known && !strings.HasPrefix(run, "01-token-file ") {
			t.Errorf("%s: %s, want nothing of it", run, outcome)
		}
	}
	w.awaitNothingLeft()
}

// TestScenariosOfStorageInJavaScript: a write whose body comes late shows its hole, and there is
// none with the mend that it names.
func TestScenariosOfStorageInJavaScript(t *testing.T) {
	t.Parallel()
	need.Files(t, examples)
	node := need.Program(t, "node", "to run a storage in JavaScript")
	w := newWorld(t)
	p := w.start("gcsim", "run", "--storage-command", node+" "+examples+"storage.js --listen {addr}", "delayed-request")
	p.want(1)
	p.says("verdict: corrupted, NOT as expected: client2's write is lost", "The storage broke the rule of a fence: only the highest token writes.")
	p = w.start("gcsim", "run", "--storage-command", node+" "+mend(t, examples+"storage.js")+" --listen {addr}", "delayed-request")
	p.want(0)
	p.says("verdict: safe, as expected: client2's write is safe")
}

// TestScenariosOfStorageAtAURL: runs side by side in one storage do not disturb each other.
func TestScenariosOfStorageAtAURL(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	storage := w.start("storage", "--listen", "127.0.0.1:0", "--journal", "-")
	addr := addressIn(t, storage.await("listen"))
	p := w.start("gcsim", "run", "--json", "--storage-url", "http://"+addr, "--repeat", "2", "gc-pause", "delayed-request", "storage-restart", "late-retry", "readers-and-writers")
	p.want(0)
	got := runsOf(t, p)
	for run, want := range map[string]string{
		"01-gc-pause fenced": "safe", "04-delayed-request fenced": "safe", "19-late-retry numbered": "safe", "22-readers-and-writers two-marks": "safe",
		"08-storage-restart durable": "it kills or stops the storage, which --storage-command makes possible",
	} {
		if got[run] != want {
			t.Errorf("%s: %s, want %s", run, got[run], want)
		}
	}
}

// addressIn is the address in the first line of a journal.
func addressIn(t *testing.T, text string) string {
	t.Helper()
	var first struct{ Listen string }
	for _, line := range strings.Split(text, "\n") {
		if json.Unmarshal([]byte(line), &first) == nil && first.Listen != "" {
			return first.Listen
		}
	}
	t.Fatalf("no address in %q", text)
	return ""
}

// TestStorageThatCannotBeRun: the error says what is wrong, before anything is run.
func TestStorageThatCannotBeRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	need.Program(t, "sh", "to run a storage by a command")
	for want, args := range map[string][]string{
		"takes no connections":            {"--storage-url", "http://" + l.Addr().String()},
		"is no URL of a storage":          {"--storage-url", "127.0.0.1:8080"},
		"got both":                        {"--storage-url", "http://127.0.0.1:8080", "--storage-command", "x {addr}"},
		"names neither {addr} nor {port}": {"--storage-command", "cat"},
		"no such disk":                    {"--storage-command", "echo no such disk >&2; exit 3 {addr}"},
		"--storage-command is empty":      {"--storage-command", ""},
	} {
		p := w.start("gcsim", append([]string{"run", "gc-pause"}, args...)...)
		p.want(2)
		p.says(want)
	}
}

// TestReportsOfStorageThatCannotBeAsked: reports say why nothing was run, and what would have been left out.
func TestReportsOfStorageThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	python := need.Program(t, "python3", "to run a storage in Python")
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	defer broken.Close()
	w := newWorld(t)
	for want, args := range map[string][]string{
		"before the runs gcsim asks the storage what it can do: the storage " + broken.URL:                           {"--storage-url", broken.URL},
		"before the runs gcsim asks the storage what it can do, and whether it keeps its data when gcsim kills it: ": {"--storage-command", python + " nofile.py {addr}"},
	} {
		junit := filepath.Join(t.TempDir(), "junit.xml")
		p := w.start("gcsim", append([]string{"run", "--json", "--junit", junit, "gc-pause"}, args...)...)
		p.want(2)
		p.says(`"ok": false`, `"error": "`+want)
		if got := runsOf(t, p); got["01-gc-pause unfenced"] != "it wants a storage that checks no tokens (fencing: off)" {
			t.Errorf("the runs are %q, want that the one without a check is left out", got)
		}
		if got := read(t, junit); !strings.Contains(got, `<error type="could not be run" message="`+want) || !strings.Contains(got, `errors="1" skipped="1"`) {
			t.Errorf("JUnit's XML has not %q:\n%s", want, got)
		}
	}
}

// TestStorageOfAScenario: the file names the command.
func TestStorageOfAScenario(t *testing.T) {
	t.Parallel()
	need.Files(t, examples)
	python := need.Program(t, "python3", "to run a storage in Python")
	w := newWorld(t)
	storage, err := filepath.Abs(examples + "storage.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := scenarioDir(t, map[string][]string{"mine": {"storage: {engine: memory}", "storage: {command: '" + python + " " + storage + " --listen {addr} --dir {dir}'}"}})
	file := filepath.Join(dir, "mine.yaml")
	p := w.start("gcsim", "run", file)
	p.want(2)
	p.says(`mine.yaml:`, `a storage of your own has no such setting: leave out fencing`)
	text := read(t, file)
	if err := os.WriteFile(file, []byte(text[:strings.Index(text, "  unfenced:")]), 0o666); err != nil {
		t.Fatal(err)
	}
	p = w.start("gcsim", "run", file)
	p.want(0)
	p.says("verdict: safe, as expected")
	p = w.start("gcsim", "run", "--storage-url", "http://127.0.0.1:1", file)
	p.want(2)
	p.says("left out: it names a storage of its own (storage.command)")
}
