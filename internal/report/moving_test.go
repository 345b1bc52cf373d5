package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fencelab/fencelab/internal/report/story"
	"github.com/fencelab/fencelab/internal/report/svg"
)

// TestMoving: of a moving picture each row is covered, and the verdict, only where motion is wanted, and not
// at the beginning; of others nothing is.
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
		if strings.Contains(moving.String(), "{ opacity: 1 }") {
			t.Errorf("%s: what is covered cannot be seen at all", name)
		}
		if strings.Contains(still.String(), "cover") {
			t.Errorf("%s: a picture that does not move has covers", name)
		}
		text := moving.String()
		covers := regexp.MustCompile(`<rect class="tear cover cover(\d+)" x="\d+" y="(\d+)" width="\d+" height="(\d+)"`).FindAllStringSubmatch(text, -1)
		if len(covers) != rows+1 {
			t.Fatalf("%s: %d covers, want %d", name, len(covers), rows+1)
		}
		end := ""
		for i, c := range covers {
			y, _ := strconv.Atoi(c[2])
			height, _ := strconv.Atoi(c[3])
			if c[1] != fmt.Sprint(i) || i > 0 && c[2] != end {
				t.Errorf("%s: cover %d is cover%s, and begins at %s; the one before ends at %s", name, i, c[1], c[2], end)
			}
			end = fmt.Sprint(y + height)
		}
		before, after, _ := strings.Cut(text, "@media (prefers-reduced-motion: no-preference)")
		if strings.Contains(before, "animation") || strings.Count(after, "animation:") != rows+1 {
			t.Errorf("%s: motion is not for those alone who want it", name)
		}
		keyframes := regexp.MustCompile(`opacity: \.85 } ([\d.]+)%, 100%`).FindAllStringSubmatch(after, -1)
		times := regexp.MustCompile(`animation: cover\d+ ([\d.]+)s -([\d.]+)s infinite`).FindAllStringSubmatch(after, -1)
		if len(keyframes) != rows+1 || len(times) != rows+1 {
			t.Fatalf("%s: %d covers go away, and %d of them begin somewhere; want %d", name, len(keyframes), len(times), rows+1)
		}
		for i := range times {
			gone, _ := strconv.ParseFloat(keyframes[i][1], 64)
			all, _ := strconv.ParseFloat(times[i][1], 64)
			if begins, _ := strconv.ParseFloat(times[i][2], 64); begins/all < gone/100 {
				t.Errorf("%s: the picture begins with row %d covered", name, i)
			}
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
