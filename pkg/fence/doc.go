// Package fence checks fencing tokens: it lets a resource refuse the writes of
// a lock holder that was paused, lost its lock without knowing, and woke up
// again.
//
// # What it is for
//
// A lock service can only say who may hold a lock. The resource itself has to
// refuse what comes from an earlier holder, by the token that came with the grant: a
// number that is higher than that of each earlier grant. A request shows its token in
// a Claim. The resource keeps the highest token that it has admitted, its Mark, and
// refuses a claim with a lower token. Mark.Admit is that rule.
//
// Tokens order requests; they permit nothing. Who may write at all is a matter
// for authentication.
//
// # Ways of use
//
//   - Protect a handler: fencehttp.Middleware, and its example; for gRPC, package fencegrpc.
//   - Protect what is in memory: Register, and its example.
//   - Protect a database: package fencesql, or Mark.Admit in the transaction that changes a
//     row; see the example Database row.
//   - Begin in a service that is in use: Observe, and its example.
//   - See what is admitted and what is refused: Watch.
//   - Write a store of one's own: a Guard, and its example. Package fencetest has the
//     laws that each store obeys.
//   - Send the token, as a client does: fencehttp.SetClaim and fencehttp.Transport; see
//     the examples Client and Context of package lock. WithClaim is how a context carries
//     it.
//   - Tell readers from writers: Mode, and its example.
//   - Tell what happened, by an error: Outcome.
//
// # Zero values
//
// The zero Register is ready to use. The zero Mark admits every token. The zero Token
// is none, and a claim with it is refused: a request without a token never passes for
// one with a low token. The zero Mode is Exclusive, the zero Sequence takes no part in
// the order within a tenure, and the zero Outcome is Unknown.
//
// # Costs
//
// Mark.Admit is a few comparisons. A Register keeps one mark per scope, for as long as
// it lives; see Register.MaxScopes. Operations of one scope run one at a time, readers
// too; those of different scopes do not wait for each other. A store that keeps marks
// in a database reads and writes one more row, or three more columns, in a transaction
// that it has anyway. A client sends two or three more headers.
//
// # Stability
//
// Below version 1 an exported name can change with a minor version, and CHANGELOG.md
// at the root of the repository says how to adapt. The HTTP headers, and marks that
// are stored, are read by all later versions. The package supports the Go version of
// its go.mod and all later ones.
//
// The package needs the standard library only.
package fence
