package elasticsearch

import (
	"net/http"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/pkg/fence"
)

// TableRecipes are all recipes, for the table of what they do.
func TableRecipes() (list []labtest.Recipe) {
	writers := map[*recipe]*recipe{&shared: &exclusive, &guardedRead: &guarded} // of readers
	for _, r := range recipes {
		if r == &versions {
			continue // it is no lock
		}
		against := r
		if writer := writers[r]; writer != nil {
			against = writer
		}
		list = append(list, labtest.Recipe{
			Name: r.name, Service: Name, Client: service.By + ": " + r.name, Against: service.By + ": " + against.name,
			Token:  r.shows == history.ShowsGrant && r.mode == fence.Exclusive, // the stories of tokens have no readers
			Shared: r.mode == fence.Shared,
		})
	}
	return list
}

// Gate is the gate of a run with one lock before a node.
func Gate(stage service.Stage, endpoint, lock string) (handler http.Handler, closeGate func(), err error) {
	n, err := at(endpoint)
	if err != nil {
		return nil, nil, err
	}
	g := &gate{node: n, account: newAccount(stage), files: newFiles(stage), locks: []string{lock}, fail: func(err error) { stage.Fail(nil, err) }}
	return (&door{gate: g, node: n}).handler(), g.close, nil
}

// ParentsOf are the directories that a path is in, from the top.
var ParentsOf = parentsOf

// IndexOf is the index in which a lock is.
var IndexOf = indexOf
