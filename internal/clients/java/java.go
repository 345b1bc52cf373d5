// Package java is the programs of clients in Java: the locks of others as they are. Package peer has a client
// take its locks by them. Their sources are one project, which the user's own Maven compiles, once: a folder for the
// libraries of each kind of lock, and the folder agent, which does for all what package peer tells it. The folder
// hazelcast has members, too; the folder interop is no client, but for a test of our locks beside these.
package java

import (
	"context"
	"embed"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencelab/fencelab/internal/clients/maven"
	"github.com/fencelab/fencelab/internal/clients/peer"
	"github.com/fencelab/fencelab/internal/platform/ports"
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

// Found says where they are; "": something is missing, and bring is the command that brings it.
func Found() (where, bring string) {
	return project.FoundToRun("gcsim services get " + Name)
}

// Whole compares those that are there with their check sums.
func Whole() error { return project.Whole() }

// Get compiles them into the user's cache, unless they are there and whole, and tells progress about it.
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

var Member = maven.Program{Module: Hazelcast, Main: "Member", Uses: agent}

func client(folder string) maven.Program {
	return maven.Program{Module: folder, Main: "Peer", Uses: agent}
}

// agent is what all of them use.
var agent = []string{"agent"}

// Start are Java's arguments after its options and before the program's. Found must have found it.
func Start(p maven.Program) []string { return project.Start(p) }

// Collector is the setting of a client in Java that chooses how its JVM collects garbage.
var Collector = setting.Setting{
	Name: "collector", Default: "serial", Of: []string{"serial", "g1", "zgc"},
	About: "The garbage collector of a client in Java. serial: it stops the program for the whole collection. g1, zgc: they do most of the work while the program runs.",
}

var collectors = map[string][]string{
	"serial": {"-XX:+UseSerialGC", "-Xmn512m"},                     // so large that a collection in between is rare
	"g1":     {"-XX:+UseG1GC", "-XX:+ExplicitGCInvokesConcurrent"}, // else System.gc() is none of its own collections
	"zgc":    {"-XX:+UseZGC"},
}

// CheckOther finds one of these settings, which only clients in Java have, at a client whose program is another; peer
// is service.PeerOf.
func CheckOther(name, recipe, peer string, client setting.Values, only ...setting.Setting) *scenario.Conflict {
	if strings.HasPrefix(peer, Prefix) {
		return nil
	}
	for _, s := range only {
		if client.Text(s.Name) != s.Default {
			return &scenario.Conflict{Client: name, Setting: s.Name, Text: fmt.Sprintf("%s runs in no JVM: leave %q out", recipe, s.Name)}
		}
	}
	return nil
}

// Program is the command of the client in a folder, with a client's settings. In dir is the log of its collections, with what else the
// process leaves, under its name.
func Program(folder, dir, name string, settings setting.Values) peer.Program {
	log := filepath.Join(dir, name+".gc.log")
	return peer.Program{
		Language: "Java", Env: Env(settings), Leaves: log, Collects: true,
		Command: slices.Concat([]string{"java"}, maven.Options("1536m", dir, name), collectors[settings.Text(Collector.Name)],
			[]string{"-Dfencelab.gclog=" + log, "-Xlog:gc,gc+cpu,gc+phases:file=" + log}, Start(client(folder))),
	}
}

// Ahead is the setting of a client in Java that has a wrong clock.
var Ahead = setting.Setting{
	Name: setting.Ahead, Kind: setting.Time, Default: "0s", Pattern: `^(0|[1-9][0-9]*)(ms|s|m)$`,
	About: "How far its clock is ahead of the others: for a client in Java, and for int-lock.",
}

// faketime is libfaketime, where distributions have it. The loader knows what $LIB is.
const faketime = "/usr/$LIB/faketime/libfaketimeMT.so.1"

// Env is what the environment of a client's JVM says. What the JVM is told of the time of day
// passes through libfaketime: the libraries are as they are. How long something takes, and what
// a thread waits for, is not changed.
func Env(client setting.Values) []string {
	by := ahead(client)
	if by == 0 {
		return nil
	}
	return []string{
		"LD_PRELOAD=" + faketime,
		"FAKETIME=+" + strconv.FormatFloat(by.Seconds(), 'f', -1, 64),
		"FAKETIME_DONT_FAKE_MONOTONIC=1",
		"FAKETIME_FORCE_MONOTONIC_FIX=0", // with it Object.wait returns at once
	}
}

// ahead is the value of Ahead, zero where a service's clients have no such setting.
func ahead(client setting.Values) time.Duration {
	if _, has := client[Ahead.Name]; !has {
		return 0
	}
	return client.Time(Ahead.Name)
}

// Lacks is what a client with these settings lacks beside its program, and the command that brings it; "" is nothing.
func Lacks(client setting.Values) string {
	if Env(client) == nil {
		return ""
	}
	if where, bring := FoundClock(); where == "" {
		return "libfaketime, which makes the clock of a client in Java wrong, is missing: " + bring
	}
	return ""
}

// FoundClock says where libfaketime is; "": it is missing, and bring is the command that brings it.
func FoundClock() (where, bring string) {
	for _, pattern := range []string{"/usr/lib*/faketime/*MT.so.1", "/usr/lib/*/faketime/*MT.so.1"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 { // the patterns are well-formed
			return found[0], ""
		}
	}
	return "", "apt-get install libfaketime"
}

// trials run all programs for a moment: clients whose servers are not there, a member without the others.
func trials() (all []maven.Trial, err error) {
	const here = 2 // so many of the ports are the member's own
	free, err := ports.Free(here + 2)
	if err != nil {
		return nil, err
	}
	nobody := free[here]
	for folder, recipe := range map[string]string{"curator": "curator", "dynamodb": "dynamodb-lock-client", Hazelcast: "hazelcast", "jdbc": "spring-jdbc", "jetcd": "jetcd", "redisson": "redisson", "shedlock": "shedlock", "spring": "spring"} {
		all = append(all, maven.Trial{
			Program: client(folder),
			Arguments: []string{url.Values{
				"by": {recipe}, "endpoints": {nobody}, "timeout": {"4000000000"}, "ttl": {"1000000000"}, "suspended": {"obeyed"},
			}.Encode()},
			Input: "id=1&op=reach\nid=2&op=send&method=GET&url=http://" + nobody + "/\n",
			Env:   []string{"FENCELAB_JDBC_URL=jdbc:postgresql://" + nobody + "/"},
		})
	}
	member := maven.Trial{Program: Member, Arguments: []string{"5"}}
	for _, addr := range free {
		member.Arguments = append(member.Arguments, fmt.Sprint(netip.MustParseAddrPort(addr).Port()))
	}
	return append(all, member), nil
}
