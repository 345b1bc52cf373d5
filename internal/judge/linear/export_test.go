package linear

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// Save writes a history as JSON lines.
func Save(w io.Writer, history []Op) error {
	enc := json.NewEncoder(w)
	for _, op := range history {
		if err := enc.Encode(op); err != nil {
			return fmt.Errorf("history: %w", err)
		}
	}
	return nil
}

// Load reads what Save wrote. An error names the operation.
func Load(r io.Reader) ([]Op, error) {
	var history []Op
	for dec := json.NewDecoder(r); ; {
		var op Op
		switch err := dec.Decode(&op); {
		case errors.Is(err, io.EOF):
			return history, nil
		case err != nil:
			return nil, fmt.Errorf("history: operation %d: %w", len(history)+1, err)
		}
		history = append(history, op)
	}
}
