// Package original lists the languages in which there are programs of clients: the locks of others as they are. The
// lab knows them by this list alone.
package original

import (
	"context"
	"io"
	"strings"

	"github.com/fencelab/fencelab/internal/clients/golang"
	"github.com/fencelab/fencelab/internal/clients/java"
	"github.com/fencelab/fencelab/internal/clients/nodejs"
	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/clients/python"
	"github.com/fencelab/fencelab/internal/clients/rust"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Language is one of them.
type Language struct {
	Name  string // of the command that brings its programs; with a slash it begins the names of their recipes
	Title string // as people write it
	// Apart: it takes so long to bring its programs that who asks for all does not mean them.
	Apart bool
	// Found says where its programs are; "": something is missing, and bring is the command that brings it.
	Found func() (where, bring string)
	// Whole compares those that are there with their check sums.
	Whole func() error
	// Get brings them into the user's cache, unless they are there and whole, and tells progress about it.
	Get func(ctx context.Context, progress io.Writer) error
	// Program is one of its programs, for a client with these settings. In dir is what the process leaves, under its name.
	Program func(of, dir, name string, settings setting.Values) peer.Program
	// Lacks is what a client with these settings lacks beside; "" is nothing. nil: no client lacks anything.
	Lacks func(client setting.Values) string
}

// Languages are all.
var Languages = []*Language{
	{Name: java.Name, Title: "Java", Found: java.Found, Whole: java.Whole, Get: java.Get, Program: java.Program, Lacks: java.Lacks},
	{Name: python.Name, Title: "Python", Found: python.Found, Whole: python.Whole, Get: python.Get, Program: python.Program},
	{Name: nodejs.Name, Title: "JavaScript", Found: nodejs.Found, Whole: nodejs.Whole, Get: nodejs.Get, Program: nodejs.Program},
	{Name: rust.Name, Title: "Rust", Apart: true, Found: rust.Found, Whole: rust.Whole, Get: rust.Get, Program: rust.Program},
	{Name: golang.Name, Title: "Go", Found: golang.Found, Whole: golang.Whole, Get: golang.Get, Program: golang.Program},
}

// Of is the language of a program that service.PeerOf has named, and the program's name in it.
func Of(named string) (l *Language, program string) {
	language, program, _ := strings.Cut(named, "/")
	for _, l := range Languages {
		if l.Name == language {
			return l, program
		}
	}
	panic("no client is in the language " + language)
}

// Lacks is what a client lacks whose program service.PeerOf has named, and the command that brings it; "" is nothing.
func Lacks(named string, client setting.Values) string {
	l, _ := Of(named)
	if where, bring := l.Found(); where == "" {
		return "the clients in " + l.Title + " are missing: " + bring
	}
	if l.Lacks == nil {
		return ""
	}
	return l.Lacks(client)
}
