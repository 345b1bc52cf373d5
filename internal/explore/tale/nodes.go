package tale

import (
	"strings"

	"github.com/fencelab/fencelab/internal/history"
)

// remarks are what happens to a node of the lock service, by the verb of the step, and how it is from then on. Without a
// state it is as it was before.
var remarks = map[string]struct {
	says string
	is   history.Node
}{
	"kill":    {" is killed", history.Node{State: history.NodeDead}},
	"restart": {" is started again", history.Node{State: history.NodeRunning}},
	"isolate": {" hears nothing from now on", history.Node{State: history.NodeIsolated}},
	"promote": {" is promoted", history.Node{State: history.NodeRunning, Leads: true}},
	"jump":    {"'s clock jumps forward", history.Node{}},
	"fill":    {"'s memory is full", history.Node{}},
}

// remark tells of the steps of a text that are about a node.
func (t *teller) remark(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		words := strings.Fields(line)
		remark, known := remarks[words[1]]
		if !known || words[0] != "gcsim:" || words[2] == t.w.Names.Service || !strings.HasPrefix(words[2], t.w.Names.Service) {
			continue
		}
		note := history.Event{Lane: t.w.Names.Service, Kind: history.KindNote, Text: words[2] + remark.says}
		if remark.is.Name = words[2]; remark.is.State != "" {
			note.Nodes = []history.Node{remark.is}
		}
		t.add(note)
	}
}
