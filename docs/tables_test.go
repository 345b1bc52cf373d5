package docs

import (
	"strings"
	"testing"
	"testing/fstest"
)

const table = `| recipe | exclusive | restart with nothing | restart with all |
| --- | --- | --- | --- |
| ` + "`a`" + ` | yes | no | yes |
| ` + "`b`" + ` | no | yes | yes |

- *exclusive*: One holder.
`

// TestDoes: a property of several columns needs a yes in each of them; nothing has a property that the table has not.
func TestDoes(t *testing.T) {
	of, err := ReadTable(fstest.MapFS{"t.md": {Data: []byte(table)}}, "t.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		recipe, property string
		want             bool
	}{
		{"a", "exclusive", true}, {"", "exclusive", true}, {"b", "exclusive", false}, {"c", "exclusive", false},
		{"a", "restart", false}, {"b", "restart", true}, {"b", "fair", false},
	} {
		if got := of.Does(tt.recipe, tt.property); got != tt.want {
			t.Errorf("%q, %s: %v", tt.recipe, tt.property, got)
		}
	}
	if of.Says["exclusive"] != "One holder." {
		t.Errorf("%q", of.Says)
	}
}

// TestTables: the table of each lock service is there.
func TestTables(t *testing.T) {
	for file, recipe := range map[string]string{"recipes.md": "own", "redis/recipes.md": "fenced", "sqlite/recipes.md": "token"} {
		if of, err := ReadTable(Recipes, file); err != nil || !of.Does(recipe, "token") {
			t.Errorf("%s: %s has no token (%v)", file, recipe, err)
		}
	}
}

func TestNoTable(t *testing.T) {
	if _, err := ReadTable(fstest.MapFS{"t.md": {}}, "t.md"); err == nil || !strings.Contains(err.Error(), "t.md has no table") {
		t.Errorf("got %v", err)
	}
}
