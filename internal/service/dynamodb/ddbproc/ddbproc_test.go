package ddbproc_test

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/dynamodb/ddbproc"
	"github.com/fencelab/fencelab/internal/service/dynamodb/ddbproc/ddbtest"
)

func TestMain(m *testing.M) { proctest.Main(m, ddbproc.Command()) }

// TestMissing: without the program or the jars it is said what brings them.
func TestMissing(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	_, err := ddbproc.Start(t.Context(), proctest.Group(t))
	if want := "dynamodb is missing: gcsim services get dynamodb"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// TestProgram: go vet sees the program, which is no package of this module.
func TestProgram(t *testing.T) {
	ddbtest.Need(t)
	dir := t.TempDir()
	if err := ddbproc.Program.CopyTo(dir); err != nil {
		t.Fatal(err)
	}
	vet := exec.Command("go", "vet", ".")
	vet.Dir, vet.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestNoWebPages: what a web page may have sent is refused, and what a program sends is answered.
func TestNoWebPages(t *testing.T) {
	ddbtest.Need(t)
	n, err := ddbproc.Start(t.Context(), proctest.Group(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, header := range map[string]string{"Origin": "http://example.com", "Sec-Fetch-Site": "cross-site", "Host": "example.com"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+n.Addr+"/", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set(name, header)
		if name == "Host" {
			request.Host = header
		}
		got, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != http.StatusForbidden {
			t.Errorf("with %s: %s it answers %s", name, header, got.Status)
		}
	}
	if _, err := ddbproc.Ask(t.Context(), n.Addr, "Nothing", []byte("{}")); err == nil || !strings.Contains(err.Error(), "Nothing of DynamoDB answers 400") {
		t.Errorf("an operation that is none: %v", err)
	}
}
