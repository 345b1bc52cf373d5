package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
)

// TestMoving: of a moving picture each row is covered, and the verdict, only where motion is wanted; of others nothing is.
func TestMoving(t *testing.T) {
	d := load(t, "unfenced")
	rows := len(story.NewBuilder().Add(d.Events, d.Outcome.Drawn()))
	for name, form := range map[string]svg.Layout{"wide": svg.Wide, "narrow": svg.Narrow} {
		var still, moving bytes.Buffer
		if err := svg.Write(&still, form, d); err != nil {
			t.Fatal(err)
		}
		if err := svg.Write(&moving, form.Moving(), d); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(still.String(), "cover") {
			t.Errorf("%s: a picture that does not move has covers", name)
		}
		text := moving.String()
		for i := range rows + 1 {
			if !strings.Contains(text, fmt.Sprintf(`<rect class="tear cover cover%d"`, i)) {
				t.Errorf("%s: no cover %d of %d", name, i, rows+1)
			}
		}
		before, after, _ := strings.Cut(text, "@media (prefers-reduced-motion: no-preference)")
		if strings.Contains(before, "animation") || strings.Count(after, "animation:") != rows+1 {
			t.Errorf("%s: motion is not for those alone who want it", name)
		}
		for decoder := xml.NewDecoder(&moving); ; {
			if _, err := decoder.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}
