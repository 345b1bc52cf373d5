package linear

import (
	"time"

	"github.com/anishathalye/porcupine"
)

// Whole is Check without cutting the history.
func Whole(history []Op) Verdict {
	return porcupine.CheckOperationsTimeout(model, operations(history), 0)
}

// InPieces is Check of one scope's whole history, without a guess at what is likely.
func InPieces(history []Op) Verdict {
	verdict, _ := inPieces(operations(history), time.Time{})
	return verdict
}
