// Package junittest checks JUnit's XML by the rules of junit.xsd, in Go, for tests
// that cannot count on xmllint.
package junittest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// element is what may be in an element.
type element struct {
	attributes map[string]func(value string) bool // these and no others
	children   string                             // a regular expression of their names, each with a space after it
	text       bool                               // may be there
}

var elements = map[string]element{
	"testsuites": {children: `(testsuite )*`},
	"testsuite": {
		attributes: map[string]func(string) bool{
			"id": isCount, "package": isName, "name": isName, "hostname": isName, "timestamp": isTime,
			"tests": isCount, "failures": isCount, "errors": isCount, "skipped": isCount, "time": isSeconds,
		},
		children: `properties (testcase )+system-out system-err `,
	},
	"properties": {children: `(property )+`},
	"property":   {attributes: map[string]func(string) bool{"name": isName, "value": isString}},
	"testcase": {
		attributes: map[string]func(string) bool{"classname": isName, "name": isName, "time": isSeconds},
		children:   `(failure |error |skipped )?`,
	},
	"failure":    {attributes: map[string]func(string) bool{"type": isName, "message": isString}, text: true},
	"error":      {attributes: map[string]func(string) bool{"type": isName, "message": isString}, text: true},
	"skipped":    {attributes: map[string]func(string) bool{"message": isString}},
	"system-out": {text: true},
	"system-err": {text: true},
}

func isString(string) bool { return true }

func isName(s string) bool { return strings.TrimSpace(s) != "" }

func isCount(s string) bool {
	n, err := strconv.ParseInt(s, 10, 32)
	return err == nil && n >= 0
}

var seconds = regexp.MustCompile(`^[0-9]+\.[0-9]{3}$`)

func isSeconds(s string) bool { return seconds.MatchString(s) }

func isTime(s string) bool {
	const layout = "2006-01-02T15:04:05"
	_, err := time.Parse(layout, s)
	return err == nil && len(s) == len(layout)
}

// node is an element of a document.
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

// check checks an element that is within others.
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

func (n node) checkAttributes(path string, want map[string]func(string) bool) error {
	seen := make(map[string]bool)
	for _, a := range n.Attributes {
		valid := want[a.Name.Local]
		if valid == nil || a.Name.Space != "" || seen[a.Name.Local] {
			return fmt.Errorf("%s has an attribute %s, or has it twice", path, a.Name.Local)
		}
		if !valid(a.Value) {
			return fmt.Errorf("%s has %s=%q", path, a.Name.Local, a.Value)
		}
		seen[a.Name.Local] = true
	}
	for name := range want {
		if !seen[name] {
			return fmt.Errorf("%s has no attribute %s", path, name)
		}
	}
	return nil
}
