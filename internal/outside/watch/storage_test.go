package watch

import "testing"

// TestStorageAt: a storage has a URL, or a name by which gcsim starts it.
func TestStorageAt(t *testing.T) {
	for to, want := range map[string]string{
		"": "", "unfenced": "", "http://127.0.0.1:1/a": "http://127.0.0.1:1/a", "postgres": "postgres:", "redis": "redis:",
		"postgresql://a:b@c/d": "postgres://a:b@c/d", "mysql://c": "mariadb://c",
	} {
		at, checksNone, err := StorageAt(to)
		got := ""
		if at != nil {
			got = at.String()
		}
		if got != want || checksNone != (to == "unfenced") || err != nil {
			t.Errorf("%q is %q, checks none %v, error %v, want %q", to, got, checksNone, err, want)
		}
	}
	for _, to := range []string{"http", "oracle", "https://a", "postgres:a", "redis:/a"} {
		if at, _, err := StorageAt(to); err == nil {
			t.Errorf("%q is %v, want an error", to, at)
		}
	}
}
