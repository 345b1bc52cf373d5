package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/history"
	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
)

// TestTallPicturesRepeatNames: wherever one looks at a tall picture, names of all
// lanes are not far above. A short one has them once.
func TestTallPicturesRepeatNames(t *testing.T) {
	const far = 750
	lanes := []string{"c1", "c2", "storage"}
	for _, l := range []svg.Layout{svg.Wide, svg.Narrow} {
		for rows, want := range map[int]bool{10: false, 60: true} {
			events := []history.Event{{Kind: history.KindRun, Run: &history.Run{Lanes: lanes}}}
			for i := range rows {
				events = append(events, history.Event{At: time.Duration(i) * time.Second, Lane: "c1", Kind: history.KindNote, Text: fmt.Sprint(i)})
			}
			s := svg.Inline(story.Drawing{Events: events}, l)
			var names []string
			last := 0
			for _, label := range labelsOf(s) {
				if strings.HasPrefix(label.class, "head") {
					names = append(names, label.text)
					if last > 0 && label.y-last > far {
						t.Errorf("%d pixels wide: no names between %d and %d", s.Width, last, label.y)
					}
					last = label.y
				}
			}
			end := 0
			for _, lane := range s.Panels[0].Lines {
				end = max(end, lane.Y2)
			}
			if end-last > far+200 { // they are not worth repeating for some last rows
				t.Errorf("%d pixels wide: no names between %d and the end, %d", s.Width, last, end)
			}
			if again := len(names) > len(lanes); again != want {
				t.Errorf("%d pixels wide, %d rows: the names are %v", s.Width, rows, names)
			}
			if want := strings.Repeat(" c1 c2 storage", len(names)/3); strings.Join(names, " ") != want[1:] {
				t.Errorf("%d pixels wide: got the names %v, want all each time", s.Width, names)
			}
		}
	}
}
