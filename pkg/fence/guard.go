package fence

import "context"

// Guard keeps marks and runs operations under them. Register is a Guard in
// memory; a store that keeps its marks beside its data can be one too, and then
// stands behind fencehttp.Middleware as it is.
type Guard interface {
	// Do runs op if c is admitted by the mark of its scope, and returns op's
	// error. Check, mark and op are one step. With a refusal, ErrDuplicate or
	// any other error of Do's own, op did not run or nothing of it remains.
	//
	// Where op fails, its work and the mark both stay or are both undone.
	//
	// A ctx that is done ends the wait for other operations of the scope. Do
	// hands ctx to op, with what the store may have put into it for op, such as
	// a transaction.
	Do(ctx context.Context, c Claim, op func(ctx context.Context) error) error
}

var _ Guard = (*Register)(nil)
