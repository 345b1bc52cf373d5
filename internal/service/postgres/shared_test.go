package postgres_test

import (
	"os"
	"slices"
	"testing"

	"github.com/fencelab/fencelab/internal/lab"
	"github.com/fencelab/fencelab/internal/lab/labtest"
	"github.com/fencelab/fencelab/internal/scenario"
)

// TestBesideAnOpenTransaction: a run begins, and ends, on a server on which another run's client is in a transaction.
func TestBesideAnOpenTransaction(t *testing.T) {
	program(t, "to have two runs")
	s := services.Parse(t, "../../../scenarios/postgres/02-stopped-transaction.yaml")[0]
	v := s.Variants[slices.IndexFunc(s.Variants, func(v scenario.Variant) bool { return v.Name == "never" })]
	v.Steps = v.Steps[:1] // client1 takes a row's lock
	o := lab.Options{Exe: os.Args[0], Services: services, Shared: labtest.Share(t)}
	beside, told := o, 0
	beside.Next = func() <-chan scenario.Step {
		next := make(chan scenario.Step, 1)
		if told++; told == 1 {
			next <- v.Steps[0]
			return next
		}
		if _, err := lab.Run(t.Context(), s, &v, o); err != nil {
			t.Error(err)
		}
		close(next)
		return next
	}
	if _, err := lab.Run(t.Context(), s, &v, beside); err != nil {
		t.Error(err)
	}
	if told != 2 {
		t.Errorf("%d steps were asked for, want one and the end", told)
	}
}
