package elasticsearch

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/platform/sleep"
	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/scenario/setting"
	"github.com/fencelab/fencelab/internal/service"
)

const (
	settingNodes  = "nodes"
	settingActive = "active"
)

var worldSettings = []setting.Setting{
	{Name: settingNodes, Kind: setting.Number, Default: "1", Of: []string{"1", "3"}, About: "How many nodes it has, each with a copy of all documents. elasticsearch1 has the primary copies."},
	{Name: settingActive, Default: "1", Of: []string{"1", "all"}, About: "How many copies a node has to know of before it begins with a change (index.write.wait_for_active_shards)."},
}

const lacksNodes = "Elasticsearch has one node: it needs \"nodes: 3\""

// nodesOf are the nodes, the first of which leads: it has the primaries.
func nodesOf(world setting.Values) []history.Node {
	return service.NodesOf(Name, world.Number(settingNodes), Name+"1")
}

// own: what one run does to nodes is not for others, and nodes are slow to start.
func own(world setting.Values, _ map[string]scenario.Client) (why []string) {
	if n := world.Number(settingNodes); n > 1 {
		why = append(why, fmt.Sprintf("wants %d nodes of Elasticsearch", n))
	}
	return why
}

// makeIndex makes an index of the run: one shard, with a copy on each node, the primary on the first. Searches see
// what was refreshed, which is done by clients alone.
func (s *servers) makeIndex(ctx context.Context, at string) error {
	const onlyOn = "index.routing.allocation.include._name"
	several := s.cluster != nil && len(s.cluster.Nodes) > 1
	settings := values{"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": -1}
	if several {
		settings[onlyOn] = s.cluster.Nodes[0].Name
	}
	mappings := values{"dynamic": false, "properties": values{"process_id": values{"type": "keyword"}}}
	err := s.node.call(ctx, http.MethodPut, at, values{"settings": settings, "mappings": mappings}, nil)
	if err != nil || !several {
		return err
	}
	copied := values{onlyOn: nil, "number_of_replicas": len(s.cluster.Nodes) - 1, "index.write.wait_for_active_shards": s.stage.Plan().World.Text(settingActive)}
	if err := s.node.call(ctx, http.MethodPut, at+"/_settings", copied, nil); err != nil {
		return err
	}
	return s.node.call(ctx, http.MethodGet, "/_cluster/health"+at+"?wait_for_status=green&timeout=60s", nil, nil)
}

const primaryIsolated = "the primary is isolated"

// isolatePrimary has the node with the primaries go on without the others, which choose another primary.
var isolatePrimary = service.NewFault(scenario.Form{
	Usage: "isolate primary", Target: service.MemberPrimary, Own: "isolates a node of Elasticsearch",
	About: "Nothing passes between elasticsearch1, which has the primary copies, and the other nodes from now on. Clients with \"member: primary\" reach it alone, and the others another node. Over when another node has the primary copies.",
	Check: func(s *scenario.Story, _ *scenario.ClientStory, _ scenario.Step) string {
		switch {
		case s.Variant.World.Settings.Number(settingNodes) == 1:
			return lacksNodes
		case s.Variant.World.Storage.In == scenario.InService:
			return "the account does not see the data of a node that is isolated: leave \"in: service\" out"
		case s.Facts[primaryIsolated]:
			return primaryIsolated + " already"
		}
		s.Facts[primaryIsolated] = true
		return ""
	},
}, func(ctx context.Context, s *servers, story service.Story, _ scenario.Step) error {
	old, at := s.cluster.Nodes[0], story.Now()
	var next []history.Node
	err := story.Meanwhile(ctx, "another primary", func(ctx context.Context) error {
		s.doors[0].isolate(func() { s.cluster.Isolate(old) })
		for _, index := range s.indices() {
			name, err := s.awaitOther(ctx, index, old.Name)
			if err != nil {
				return err
			}
			next = append(next, history.Node{Name: name, State: history.NodeRunning, Leads: true})
		}
		return nil
	})
	if err != nil {
		return err
	}
	story.Remark(at, old.Name+", the primary, and the others hear nothing of each other from now on", history.Node{Name: old.Name, State: history.NodeIsolated})
	story.Remark(story.Now(), "another node is the primary now", slices.Compact(next)...)
	return nil
})

// routing is what a node says of the copies of an index.
type routing struct {
	Nodes  map[string]struct{ Name string } `json:"nodes"`
	Shards [][]struct {
		State   string
		Primary bool
		Node    string
	} `json:"shards"`
}

// awaitOther names the node with the primary of an index, when the account's node knows another one than that on a node.
func (s *servers) awaitOther(ctx context.Context, index, old string) (string, error) {
	for {
		var r routing
		if err := s.node.call(ctx, http.MethodGet, "/"+index+"/_search_shards?local=true", nil, &r); err == nil {
			if name := r.other(old); name != "" {
				return name, nil
			}
		}
		if !sleep.For(ctx, retry) {
			return "", fmt.Errorf("no other primary of %s than that on %s: %w", index, old, context.Cause(ctx))
		}
	}
}

// other is the node with the primary, if that is another one; "": it is not, or nobody has it.
func (r routing) other(old string) string {
	for _, shard := range r.Shards {
		for _, copied := range shard {
			if name := r.Nodes[copied.Node].Name; copied.Primary && copied.State == "STARTED" && name != old {
				return name
			}
		}
	}
	return ""
}
