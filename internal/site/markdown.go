package main

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"

	"github.com/fencelab/fencelab/docs"
	"github.com/fencelab/fencelab/internal/platform/fail"
)

// markdown has the rules of GitHub, as far as the documents use it. They have HTML of their own: pictures, and what unfolds.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(html.WithUnsafe()),
)

// anchors makes the anchors of a page's headings, as GitHub does.
type anchors map[string]int

func (a anchors) Generate(heading []byte, _ ast.NodeKind) []byte {
	name := docs.Anchor(string(heading))
	before := a[name]
	a[name]++
	if before > 0 {
		name = fmt.Sprintf("%s-%d", name, before)
	}
	return []byte(name)
}

func (anchors) Put([]byte) {}

// emptyHead is the head of a column that has no name.
var emptyHead = regexp.MustCompile(`<th[^>]*></th>`)

// wide has what can be wider than a phone scroll by itself, also by the keyboard.
var wide = strings.NewReplacer(
	"<table>", `<div class="wide" role="group" aria-label="table" tabindex="0"><table>`, "</table>", "</table></div>",
	"<pre>", `<pre tabindex="0">`,
)

// render makes the body of a page, and what a search finds there.
func (s *site) render(p *page) {
	source := []byte(p.source)
	tree := markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext(parser.WithIDs(anchors{}))))
	var elsewhere []*ast.Image
	fail.If(ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link:
			n.Destination = []byte(s.link(p, string(n.Destination)))
		case *ast.Image:
			if isElsewhere(string(n.Destination)) {
				elsewhere = append(elsewhere, n)
			}
		case *tables.TableCell:
			if _, is := n.Parent().(*tables.TableRow); is {
				n.SetAttributeString("data-head", []byte(headOf(n, source)))
			}
		}
		return ast.WalkContinue, nil
	}))
	for _, image := range elsewhere { // the site asks no other one for anything
		image.Parent().ReplaceChild(image.Parent(), image, ast.NewString([]byte(plain(image, source))))
	}
	p.sections = sections(tree, source)
	var body bytes.Buffer
	fail.If(markdown.Renderer().Render(&body, source, tree))
	p.Body = template.HTML(wide.Replace(emptyHead.ReplaceAllString(body.String(), "<td></td>")))
}

// headOf is the head of a cell's column, which a phone shows before the cell.
func headOf(cell ast.Node, source []byte) string {
	head := cell.Parent().Parent().FirstChild().FirstChild()
	for n := cell.PreviousSibling(); n != nil; n = n.PreviousSibling() {
		head = head.NextSibling()
	}
	return plain(head, source)
}

func isElsewhere(link string) bool {
	at, err := url.Parse(link)
	return err == nil && at.Scheme != ""
}

// link is where a document's link leads from its page: to another page, to a file of the site, or to where everybody
// finds the repository's files.
func (s *site) link(from *page, to string) string {
	file, anchor, has := strings.Cut(to, "#")
	if isElsewhere(to) || file == "" {
		return to
	}
	target := path.Join(path.Dir(from.File), file)
	if _, err := fs.Stat(s.clone, target); err != nil {
		fail.If(fmt.Errorf("%s: its link %s leads nowhere: %w", from.File, to, err))
	}
	if has {
		anchor = "#" + anchor
	}
	if s.has(target) {
		return from.To(target) + anchor
	}
	return docs.Published + target + anchor
}

// section is what a search finds: a heading, and the text below it.
type section struct {
	Page    string `json:"page"`    // of the site
	Part    string `json:"part"`    // to which the page belongs
	Title   string `json:"title"`   // of the page
	Anchor  string `json:"anchor"`  // "" at the beginning of the page
	Heading string `json:"heading"` // "" there
	Text    string `json:"text"`
}

func sections(tree ast.Node, source []byte) []section {
	list := []section{{}}
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		words := plain(n, source)
		if h, is := n.(*ast.Heading); is && h.Level > 1 {
			id, _ := h.AttributeString("id")
			list = append(list, section{Anchor: string(id.([]byte)), Heading: words})
		} else if !is {
			last := &list[len(list)-1]
			last.Text = strings.TrimSpace(last.Text + " " + words)
		}
	}
	return list
}

// plain is the text of a part of a document, without marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				if n.SoftLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			if entering {
				b.Write(n.Lines().Value(source))
			}
		}
		if !entering && n.Type() == ast.TypeBlock {
			b.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}
