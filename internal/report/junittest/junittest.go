// Package junittest checks JUnit's XML by the rules of junit.xsd, for tests that may lack xmllint.
package junittest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

type element struct {
	attributes string // all that it has, sorted
	children   string // a regular expression of their names, each with a space after it
	text       bool   // may be there
}

var elements = map[string]element{
	"testsuites": {children: `(testsuite )*`},
	"testsuite": {
		attributes: "errors failures hostname id name package skipped tests time timestamp",
		children:   `properties (testcase )+system-out system-err `,
	},
	"properties": {children: `(property )+`},
	"property":   {attributes: "name value"},
	"testcase":   {attributes: "classname name time", children: `(failure |error |skipped )?`},
	"failure":    {attributes: "message type", text: true},
	"error":      {attributes: "message type", text: true},
	"skipped":    {attributes: "message"},
	"system-out": {text: true},
	"system-err": {text: true},
}

var (
	name    = regexp.MustCompile(`\S`)
	count   = regexp.MustCompile(`^\d{1,9}$`)
	seconds = regexp.MustCompile(`^\d+\.\d{3}$`)
	instant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`)
)

// values are what attributes may say, where not everything.
var values = map[string]*regexp.Regexp{
	"id": count, "tests": count, "failures": count, "errors": count, "skipped": count,
	"time": seconds, "timestamp": instant,
	"name": name, "package": name, "hostname": name, "classname": name, "type": name,
}

type node struct {
	XMLName    xml.Name
	Attributes []xml.Attr `xml:",any,attr"`
	Children   []node     `xml:",any"`
	Text       string     `xml:",chardata"`
}

// Check says what is wrong with a document, and in which element.
func Check(document []byte) error {
	if !bytes.HasPrefix(document, []byte(xml.Header+"<")) {
		return fmt.Errorf("the document does not begin with %s and an element", xml.Header)
	}
	d := xml.NewDecoder(bytes.NewReader(document))
	var root node
	if err := d.Decode(&root); err != nil {
		return fmt.Errorf("no well-formed XML: %w", err)
	}
	if after := bytes.TrimSpace(document[d.InputOffset():]); len(after) > 0 {
		return fmt.Errorf("after the document there is %q", after)
	}
	if root.XMLName.Local != "testsuites" {
		return fmt.Errorf("the document is <%s>, want <testsuites>", root.XMLName.Local)
	}
	return root.check("")
}

func (n node) check(path string) error {
	name := n.XMLName.Local
	path += "/" + name
	want, known := elements[name]
	if !known || n.XMLName.Space != "" {
		return fmt.Errorf("%s is unknown", path)
	}
	if err := n.checkAttributes(path, want.attributes); err != nil {
		return err
	}
	if !want.text && strings.TrimSpace(n.Text) != "" {
		return fmt.Errorf("%s has the text %q", path, n.Text)
	}
	var children strings.Builder
	for _, child := range n.Children {
		children.WriteString(child.XMLName.Local + " ")
	}
	if !regexp.MustCompile("^(" + want.children + ")$").MatchString(children.String()) {
		return fmt.Errorf("%s has %q in it, want %q", path, children.String(), want.children)
	}
	for _, child := range n.Children {
		if err := child.check(path); err != nil {
			return err
		}
	}
	return nil
}

func (n node) checkAttributes(path, want string) error {
	var names []string
	for _, a := range n.Attributes {
		name := a.Name.Local
		names = append(names, strings.TrimPrefix(a.Name.Space+":"+name, ":"))
		_, err := time.Parse("2006-01-02T15:04:05", a.Value) // a day that there is
		if may := values[name]; may != nil && !may.MatchString(a.Value) || name == "timestamp" && err != nil {
			return fmt.Errorf("%s has %s=%q", path, name, a.Value)
		}
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != want {
		return fmt.Errorf("%s has the attributes %q, want %q", path, got, want)
	}
	return nil
}
