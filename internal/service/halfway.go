package service

import "context"

type halfwayKey struct{}

// Halfway returns a context for Client.Lock in which the client stands once it has taken
// the lock by its first request for it, before it asks for more and before it says so:
// it calls stand with the tenure's name, and goes on when stand returns. It is for
// services of which scenario.Service.Halfway is true.
func Halfway(ctx context.Context, stand func(tenure string)) context.Context {
	return context.WithValue(ctx, halfwayKey{}, stand)
}

// Stand stands, where a context of Halfway wants it.
func Stand(ctx context.Context, tenure string) {
	if stand, wanted := ctx.Value(halfwayKey{}).(func(string)); wanted {
		stand(tenure)
	}
}
