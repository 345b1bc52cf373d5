package linear

import "github.com/anishathalye/porcupine"

// Whole is Check without cutting the history.
func Whole(history []Op) Verdict {
	return porcupine.CheckOperationsTimeout(model, operations(history), 0)
}
