package fence

import "context"

type claimOf struct{ scope string }

// WithClaim returns a context that carries c, so that whatever sends a request for the
// holder can show it. A context carries one claim for each scope: c takes the place of the
// one that ctx carries for the same scope, and leaves those of other scopes.
//
// A context that a server has from its client carries no claim: what goes from one process
// to another is in the request.
func WithClaim(ctx context.Context, c Claim) context.Context {
	return context.WithValue(ctx, claimOf{c.Scope}, c)
}

// ClaimOf returns the claim that ctx carries for a scope, and whether there is one.
func ClaimOf(ctx context.Context, scope string) (c Claim, carried bool) {
	c, carried = ctx.Value(claimOf{scope}).(Claim)
	return c, carried
}
