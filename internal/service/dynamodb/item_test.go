package dynamodb

import (
	"strings"
	"testing"
	"time"

	"github.com/fencelab/fencelab/internal/service/leaseaccount"
)

// TestItem: what an item says of its lock, as the recipes and Amazon's lock client write it.
func TestItem(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		answer string
		want   leaseaccount.Says
	}{
		"nothing":  {`{}`, leaseaccount.Says{}},
		"lease":    {`{"Item":{"key":{"S":"/lock"},"ownerName":{"S":"a"},"leaseDuration":{"S":"1500"},"token":{"N":"7"}}}`, leaseaccount.Says{Owner: "a", Token: 7, Until: now.Add(1500 * time.Millisecond)}},
		"released": {`{"Item":{"ownerName":{"S":"a"},"leaseDuration":{"S":"1500"},"isReleased":{"S":"1"}}}`, leaseaccount.Says{}},
		"until":    {`{"Item":{"ownerName":{"S":"a"},"until":{"N":"1002000"}}}`, leaseaccount.Says{Owner: "a", Until: now.Add(2 * time.Second)}},
		"unlocked": {`{"Item":{"ownerName":{"S":"a"},"until":{"N":"0"}}}`, leaseaccount.Says{}},
		"create":   {`{"Item":{"ownerName":{"S":"a"}}}`, leaseaccount.Says{Owner: "a"}},
	} {
		is, err := itemIn([]byte(c.answer))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := is.says(now); err != nil || got != c.want {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, c.want)
		}
	}
	if _, err := (item{Owner: attribute{S: "a"}, Lease: attribute{S: "long"}}).says(now); err == nil || !strings.Contains(err.Error(), "leaseDuration") {
		t.Errorf("a lease that is no number: %v", err)
	}
}
