package docs

import (
	"regexp"
	"strings"
)

var notInAnchors = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// Anchor is the anchor of a heading, as GitHub makes it for the first heading with these words.
func Anchor(heading string) string {
	return strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}
