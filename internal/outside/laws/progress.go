package laws

import (
	"fmt"
	"strings"
	"time"
)

// every is how often one is told of a law that takes long.
const every = 10 * time.Second

// requests is how many a law makes, about; others make so few that they take no time.
func (j *judge) requests(l Law, perSecond float64) float64 {
	switch {
	case l.Name == manyMarks && j.scopes > 0:
		return float64(j.scopes + minScopes)
	case l.Name == manyMarks:
		return min(max(minScopes, perSecond*scopesTime.Seconds()), maxScopes) + minScopes
	case l.Name == "RestartKeepsManyMarks" && j.speaks.Durable:
		return 3_300
	case l.Name == crowd:
		return 5_000
	case strings.Contains(l.Name, "Shared") && !j.speaks.Shared, strings.HasPrefix(l.Name, "ProcessesShare") && len(j.urls()) < 2:
		return 0
	case strings.HasSuffix(l.Name, "Step"):
		return 1_500
	}
	return 100
}

// watch tells, while a law is judged, how long that one and those after it will take. It returns when over is closed.
func (j *judge) watch(list []Law, o Options, over <-chan struct{}) {
	tick := time.NewTicker(o.Every)
	defer tick.Stop()
	began, before := time.Now(), 0
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		_, asked := j.client.logged()
		perSecond := float64(asked-before) / o.Every.Seconds()
		text := fmt.Sprintf("%s: %d requests in %v", list[0].Name, asked, time.Since(began).Round(time.Second))
		if before = asked; perSecond > 0 {
			left := max(0, j.requests(list[0], perSecond)-float64(asked))
			for _, l := range list[1:] {
				left += j.requests(l, perSecond)
			}
			text += fmt.Sprintf("; at this pace %v are left for the laws from this one on", time.Duration(left/perSecond*float64(time.Second)).Round(time.Second))
		}
		o.Progress(text)
	}
}
