package dynamodb_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/platform/network/networktest"
	"github.com/fencelab/fencelab/internal/platform/proc/proctest"
	"github.com/fencelab/fencelab/internal/service/dynamodb"
	"github.com/fencelab/fencelab/internal/service/dynamodb/ddbproc"
)

// TestLostAnswer: a client that hears no answer to its write does not take its own item for another one's.
func TestLostAnswer(t *testing.T) {
	needs(t)
	launched, err := dynamodb.Service().Launch(t.Context(), proctest.Group(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	labtest.LostAnswers(t, dynamodb.Service(), networktest.NewLossy(t, launched.Endpoints[0], func(r *http.Request) bool {
		return !strings.HasSuffix(r.Header.Get(ddbproc.Target), "GetItem")
	}))
}
