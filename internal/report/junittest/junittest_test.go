package junittest

import (
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/tools/need"
)

// broken are changes to a valid document, each against one rule.
var broken = []struct{ old, new string }{
	{"<testsuites>", "<testsuites>x"},
	{"<testsuites>", `<testsuites name="all">`},
	{"<testsuites>", `<testsuites xmlns="https://example.com">`},
	{"testsuites>", "suites>"},
	{"testsuites>", "x:testsuites>"},
	{"system-err>", "x:system-err>"},
	{"system-err>", "system-warnings>"},
	{"</testsuites>", ""},
	{"</testsuites>", "</testsuites>x"},
	{"</testsuites>", "</testsuites><testsuites></testsuites>"},
	{"</testsuites>", "</testsuites>\n<testsuites></testsuites>"},
	{"<testsuites>", "x<testsuites>"},
	{`id="0"`, `id="-1"`},
	{`id="0"`, `id="zero"`},
	{`id="0"`, `id="4294967296"`},
	{`id="0"`, ``},
	{`id="0"`, `x:id="0"`},
	{`id="0"`, `id=" "`},
	{`id="0"`, `id="0" id="0"`},
	{`package="etcd"`, `package=" "`},
	{`hostname="localhost"`, `host="localhost"`},
	{`timestamp="2026-04-05T05:07:08"`, `timestamp="2026-04-05T05:07:08Z"`},
	{`timestamp="2026-04-05T05:07:08"`, `timestamp="2026-04-05T05:07:08.5"`},
	{`timestamp="2026-04-05T05:07:08"`, `timestamp="2026-02-30T05:06:07"`},
	{`tests="2"`, `tests="2.0"`},
	{`time="1.235"`, `time="1.2"`},
	{`time="1.235"`, `time="-1.235"`},
	{"<system-err></system-err>", ""},
	{"<system-err></system-err>", "<system-err><b></b></system-err>"},
	{"<system-err></system-err>", "<system-err></system-err><system-err></system-err>"},
	{"<system-out>", "<system-err></system-err><system-out>"},
	{"<properties>", "<properties></properties><properties>"},
	{"<properties>", "<properties>x"},
	{`<property name="title" value="The leader is stopped"></property>`, ""},
	{` value="All is well"`, ""},
	{`<testcase classname="etcd.01-gc-pause" name="fenced" time="1.235"></testcase>
    <testcase classname="etcd.01-gc-pause" name="unfenced" time="2.000"></testcase>`, ""},
	{` name="fenced"`, ` name=""`},
	{"</skipped>", "x</skipped>"},
	{"</skipped>", "</skipped><skipped message=\"again\"></skipped>"},
	{`type="could not be run"`, ""},
	{`type="could not be run"`, `type="could not be run" line="3"`},
	{"</failure>", "\x01</failure>"},
	{"</failure>", "<b></b></failure>"},
}

func valid(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("../testdata/results.junit.xml")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// eachBroken hands out documents that are not valid.
func eachBroken(t *testing.T, f func(document string) (why error)) {
	t.Helper()
	text := valid(t)
	for _, b := range broken {
		document := strings.ReplaceAll(text, b.old, b.new)
		if document == text {
			t.Errorf("nothing to change: %s", b.old)
		}
		if f(document) == nil {
			t.Errorf("%q in place of %q is taken for valid", b.new, b.old)
		}
	}
	if f(xml.Header+"<system-err></system-err>") == nil {
		t.Error("a part is taken for the whole")
	}
}

func TestCheck(t *testing.T) {
	if err := Check([]byte(valid(t))); err != nil {
		t.Error(err)
	}
	eachBroken(t, func(document string) error { return Check([]byte(document)) })
}

// TestSchemaSaysTheSame: xmllint, by junit.xsd, takes and refuses what Check does.
func TestSchemaSaysTheSame(t *testing.T) {
	xmllint := need.Program(t, "xmllint", "to ask junit.xsd")
	dir, n := t.TempDir(), 0
	lint := func(document string) error {
		n++
		name := filepath.Join(dir, strconv.Itoa(n)+".xml")
		if err := os.WriteFile(name, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		return exec.Command(xmllint, "--noout", "--schema", "../testdata/junit.xsd", name).Run()
	}
	if err := lint(valid(t)); err != nil {
		t.Error(err)
	}
	eachBroken(t, lint)
}
