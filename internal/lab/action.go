package lab

import (
	"context"
	"slices"

	"github.com/fencelab/fencelab/internal/scenario"
	"github.com/fencelab/fencelab/internal/service"
)

// action is a step: how it is written, when it can happen, what it does. It returns when that has happened.
type action struct {
	scenario.Form
	do        func(r *run, ctx context.Context, step scenario.Step) error
	env       []string // of the process of a client that the story does it to
	ofService bool     // it is a fault of the lock service
}

// actions are all that no lock service has for itself. Each is declared in the file that does it.
func actions() []*action {
	return slices.Concat(clientActs, []*action{
		&countAct,
		&pauseStorageFault, &resumeStorageFault, &pauseFault, &resumeFault, &killStorageFault, &killFault, &terminateFault, &restartStorageFault, &restartFault,
		&loadFault, &gcFault, &awaitAct,
		&partitionFault, &deafenServiceFault, &deafenStorageFault, &delayFault, &deliverFault, &resetFault, &healFault,
		&awaitExpiryAct,
	})
}

// actionsWith are all that a run with a lock service can do, by the IDs of their forms.
func actionsWith(s *service.Service) map[string]*action {
	all := make(map[string]*action)
	for _, a := range actions() {
		all[a.ID()] = a
	}
	for _, f := range s.Faults {
		all[f.ID()] = &action{Form: f.Form, ofService: true, do: func(r *run, ctx context.Context, step scenario.Step) error {
			return f.Do(ctx, r.servers, r, step)
		}}
	}
	return all
}

// Language is what scenarios can say where there are these lock services.
func Language(services []*service.Service) *scenario.Language {
	l := new(scenario.Language)
	for _, s := range services {
		words := s.Service
		words.Issuer, words.Unqueued = s.IssuerArgs != nil, s.Position == nil
		for _, f := range s.Faults {
			words.Forms = append(words.Forms, &f.Form)
		}
		l.Services = append(l.Services, words)
	}
	for _, a := range actions() {
		l.Forms = append(l.Forms, &a.Form)
	}
	return l
}
