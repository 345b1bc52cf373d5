package judge

// For the tests.
var (
	Within     = judge
	Faults     = faults
	Operations = operations
)
