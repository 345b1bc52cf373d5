//go:build js && wasm

// Command wasm is package play for a page: it gives the page fencelabAnswer(question, tell), which answers questions. A
// search calls tell(states, steps) again and again: so many states were seen, and all stories of so many steps told.
package main

import (
	"syscall/js"

	"github.com/fencelab/fencelab/internal/explore"
	"github.com/fencelab/fencelab/internal/explore/play"
)

func main() {
	js.Global().Set("fencelabAnswer", js.FuncOf(func(_ js.Value, args []js.Value) any {
		answer, err := play.Answer([]byte(args[0].String()), func(f explore.Found) { args[1].Invoke(f.States, f.Depth) })
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		return map[string]any{"answer": string(answer)}
	}))
	select {}
}
