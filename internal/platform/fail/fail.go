// Package fail ends what is done at the first error, as testing.T.Fatal ends a test: for tools,
// commands and dialogues, in which each step needs the one before.
package fail

type failure struct{ error }

// Caught does something, and returns the error by which that failed.
func Caught(do func()) (err error) {
	defer func() {
		switch end := recover().(type) {
		case nil:
		case failure:
			err = end.error
		default:
			panic(end)
		}
	}()
	do()
	return nil
}

// If fails by an error, unless that is nil. It is for the goroutine that called Caught alone.
func If(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Must is the value of a call that must have no error.
func Must[T any](value T, err error) T {
	If(err)
	return value
}
