package scenario

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fencelab/fencelab/internal/platform/strictyaml"
)

// most is how many bytes a file can have. The YAML library takes minutes for one
// with very many keys.
const most = 64 << 10

// textOfFile is what a file holds, with lines that end in \n. Without an error it
// is one that can be shown.
func textOfFile(data []byte) (string, error) {
	if len(data) > most {
		return "", fmt.Errorf("it has %d bytes, and a scenario has %d at most", len(data), most)
	}
	text := strings.TrimPrefix(string(data), "\ufeff") // the library takes a byte order mark for a part of the first key
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	line, column := 1, 1
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return text, &strictyaml.Error{Line: line, Column: column, Text: "this is not UTF-8: save the file as UTF-8"}
		case unprintable(r):
			return text, &strictyaml.Error{Line: line, Column: column, Text: fmt.Sprintf("a text has no control characters, like this %U", r)}
		}
		if column++; r == '\n' {
			line, column = line+1, 1
		}
	}
	return text, nil
}

// unprintable are control characters: what a scenario says goes to terminals.
func unprintable(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }
