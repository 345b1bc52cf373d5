package java

import (
	"path/filepath"
	"strconv"
	"time"

	"github.com/fencelab/fencelab/internal/scenario/setting"
)

// Ahead is the setting of a client in Java that has a wrong clock.
var Ahead = setting.Setting{
	Name: "ahead", Kind: setting.Time, Default: "0s", Pattern: `^(0|[1-9][0-9]*)(ms|s|m)$`,
	About: "Of a client in Java: how far the clock of its JVM is ahead of the others.",
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

// FoundClock says where libfaketime is, "" where it is missing, and then bring is the command
// that brings it.
func FoundClock() (where, bring string) {
	for _, pattern := range []string{"/usr/lib*/faketime/*MT.so.1", "/usr/lib/*/faketime/*MT.so.1"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 { // the patterns are well-formed
			return found[0], ""
		}
	}
	return "", "apt-get install libfaketime"
}
