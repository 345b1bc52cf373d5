// Package java is the programs of clients in Java: the locks of others as they are. Package jvm
// has a client take its locks by them. Their sources are one project of Maven, which the user's own
// Maven compiles, once. It has a folder for the libraries of each kind of lock, and the folder agent,
// which does for all of them what package jvm tells it. The folder hazelcast has the members of
// Hazelcast, too. The folder interop is no client: a test of our locks beside these needs it.
package java

import (
	"context"
	"embed"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Name is what the command calls them that brings them.
const Name = "java"

// Prefix begins the names of their recipes.
const Prefix = Name + "/"

// Group is what Maven calls the project's own modules.
const Group = "fencelab.peers"

//go:embed pom.xml */pom.xml */*.java
var sources embed.FS

var project = maven.Project{Name: "java-peers", Files: sources, Group: Group}

// Found says where they are, "" where a part of what they need is missing, and then bring is
// the command that brings that part.
func Found() (where, bring string) {
	if maven.Java() == "" {
		return "", maven.InstallJava
	}
	return project.Found(), "gcsim services get " + Name
}

// Get compiles them into the user's cache, and tells progress about it. Where they are there it
// returns at once.
func Get(ctx context.Context, progress io.Writer) error {
	if err := project.Get(ctx, progress); err != nil {
		return err
	}
	all, err := trials()
	if err != nil {
		return err
	}
	return project.Archive(ctx, progress, all...)
}

// Hazelcast is the folder that has the programs of members and of clients.
const Hazelcast = "hazelcast"

// Member is the program of a member of Hazelcast.
var Member = maven.Program{Module: Hazelcast, Main: "Member", Uses: agent}

// client is the program of the clients of a folder.
func client(peer string) maven.Program { return maven.Program{Module: peer, Main: "Peer", Uses: agent} }

// agent is what all of them use.
var agent = []string{"agent"}

// Start are the arguments with which Java starts a program, after its options and before the
// program's own. Found must have found it.
func Start(p maven.Program) []string { return project.Start(p) }

// Collector is the setting of a client in Java that chooses how its JVM collects garbage.
var Collector = setting.Setting{
	Name: "collector", Default: "serial", Of: []string{"serial", "g1", "zgc"},
	About: "Of a client in Java: the garbage collector of its JVM. serial: one thread, which stops the program for the whole collection. g1, zgc: they do most of the work while the program runs.",
}

var collectors = map[string][]string{
	"serial": {"-XX:+UseSerialGC", "-Xmn512m"},                     // so large that a collection in between is rare
	"g1":     {"-XX:+UseG1GC", "-XX:+ExplicitGCInvokesConcurrent"}, // else System.gc() is none of its own collections
	"zgc":    {"-XX:+UseZGC"},
}

// CheckOther finds one of these settings, which only clients in Java have, at a client that is none,
// by its name and that of its recipe.
func CheckOther(name, recipe string, client setting.Values, only ...setting.Setting) *scenario.Conflict {
	for _, s := range only {
		if client.Text(s.Name) != s.Default {
			return &scenario.Conflict{Client: name, Setting: s.Name, Text: fmt.Sprintf("%s runs in no JVM: leave %q out", recipe, s.Name)}
		}
	}
	return nil
}

// Command runs the program of a folder, with a client's settings, as a process that starts
// quickly. log is the log of its collections. That, and what else the process leaves, is in dir, under
// its name.
func Command(peer, dir, name string, settings setting.Values) (command []string, log string) {
	log = filepath.Join(dir, name+".gc.log")
	return slices.Concat([]string{"java"}, maven.Options("1536m", dir, name), collectors[settings.Text(Collector.Name)],
		[]string{"-Dfencelab.gclog=" + log, "-Xlog:gc,gc+cpu,gc+phases:file=" + log}, Start(client(peer))), log
}
