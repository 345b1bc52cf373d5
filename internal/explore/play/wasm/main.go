//go:build js && wasm

// Command wasm is package play for a page: it gives the page a function that answers questions.
package main

import (
	"syscall/js"

	"github.com/fencelab/fencelab/internal/explore/play"
)

func main() {
	js.Global().Set("fencelabAnswer", js.FuncOf(func(_ js.Value, args []js.Value) any {
		answer, err := play.Answer([]byte(args[0].String()))
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		return map[string]any{"answer": string(answer)}
	}))
	select {}
}
