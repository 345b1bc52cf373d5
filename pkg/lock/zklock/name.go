package zklock

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fencelab/fencelab/pkg/fence"
)

// Kinds of nodes: what stands in a node's name before the number that ZooKeeper adds.
const (
	kindMutex  = "lock-"
	kindWriter = "__WRIT__"
	kindReader = "__READ__"
)

// ofNode is the end of a node's name. ZooKeeper writes a number with ten characters or more, and the sign is one of them.
var ofNode = regexp.MustCompile(`(` + kindMutex + `|` + kindWriter + `|` + kindReader + `)([0-9]{10}|-[0-9]{9,10})$`)

// Path returns the path, in the chroot, below which the nodes of a scope's lock are. What else
// is there, of other locks, has other names.
func Path(scope string) string {
	below, isPath := strings.CutPrefix(scope, "/")
	var parts []string
	for part := range strings.SplitSeq(below, "/") {
		parts = append(parts, escape(part))
	}
	if !isPath {
		parts = slices.Insert(parts, 0, "%scopes")
	} else if parts[0] == "zookeeper" { // which is ZooKeeper's own
		parts[0] = "%7Aookeeper"
	}
	return "/" + strings.Join(parts, "/")
}

// escape makes a part of a scope into a part of a path, that no other one becomes.
func escape(part string) string {
	switch {
	case part == "":
		return "%"
	case strings.Trim(part, ".") == "" || ofNode.MatchString(part):
		return fmt.Sprintf("%%%02X%s", part[0], url.PathEscape(part[1:]))
	}
	return url.PathEscape(part)
}

// ModeOf returns how the tenure of a node holds its lock, or will hold it.
func ModeOf(node string) fence.Mode {
	if strings.Contains(path.Base(node), kindReader) {
		return fence.Shared
	}
	return fence.Exclusive
}

// queue is the names of a lock's nodes, in their order. ZooKeeper's numbers have 32 bits: after
// the highest comes the lowest.
func queue(children []string) (names []string) {
	numbers := make(map[string]int64)
	for _, name := range children {
		if parts := ofNode.FindStringSubmatch(name); parts != nil {
			numbers[name], _ = strconv.ParseInt(parts[2], 10, 64)
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return int(int32(numbers[a] - numbers[b])) })
	return names
}

// lastExcluding is the last of the nodes before that of a tenure in mode which it has to wait
// for; "": there is none. A reader waits for writers only.
func lastExcluding(before []string, mode fence.Mode) string {
	for _, name := range slices.Backward(before) {
		if mode == fence.Exclusive || ModeOf(name) == fence.Exclusive {
			return name
		}
	}
	return ""
}
