package sqlservice_test

import (
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/service"
	"github.com/fencelab/fencelab/internal/service/sqlservice"
)

// told is a run that hears an account.
type told struct {
	service.Stage
	events []history.Event
}

func (s *told) Tell(events ...history.Event) { s.events = append(s.events, events...) }

// TestEndWithoutLease: the end of what a connection has names no lease.
func TestEndWithoutLease(t *testing.T) {
	run := new(told)
	account := sqlservice.NewAccount("db", run)
	account.Taken(sqlservice.Holder{Lock: "/lock", Owner: "t"}, time.Now())
	if err := account.Check("", func(sqlservice.Holder) (bool, error) { return false, nil }); err != nil {
		t.Fatal(err)
	}
	end := run.events[len(run.events)-1]
	if end.Kind != history.KindEnded || end.Tenure != "t" || end.Cause != "" || end.Text != "with its connection" {
		t.Errorf("the account ends with %+v", end)
	}
}
