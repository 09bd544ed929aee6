package guard_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func TestAllow_AtMostTimesInAWindowHoweverManyTryAtOnce(t *testing.T) {
	store := memkv.New(memkv.Options{})
	try := guard.Try{Limit: guard.Limit{What: "knock", Times: 5, Per: time.Minute}, Who: "ann"}
	var allowed atomic.Int64
	var running sync.WaitGroup
	for range 40 {
		running.Go(func() {
			err := guard.Allow(t.Context(), store, noon.Add(20*time.Second), try)
			if err == nil {
				allowed.Add(1)
			} else if many, ok := errors.AsType[*guard.TooManyError](err); !ok || many.Wait != 40*time.Second {
				t.Errorf("want to wait for 40 s, got %v", err)
			}
		})
	}
	running.Wait()
	proof.Equal(t, allowed.Load(), 5, "5 allowed")
	proof.Is(t, guard.Allow(t.Context(), store, noon.Add(time.Minute), try), nil)
	try.Who = "ben"
	proof.Is(t, guard.Allow(t.Context(), store, noon, try), nil)
}

func TestAllow_OneTryTooManyOfSeveralIsRefused(t *testing.T) {
	store := memkv.New(memkv.Options{})
	few, many := guard.Limit{What: "few", Times: 1, Per: time.Hour}, guard.Limit{What: "many", Times: 9, Per: time.Hour}
	tries := []guard.Try{{Limit: many, Who: "ann"}, {Limit: few, Who: "ann"}}
	proof.Must(t, guard.Allow(t.Context(), store, noon, tries...))
	if err := guard.Allow(t.Context(), store, noon, tries...); !errors.Is(err, new(guard.TooManyError)) {
		t.Errorf("want a TooManyError, got %v", err)
	}
}

func TestAllow_AStoreThatIsDownAllowsNothing(t *testing.T) {
	store := memkv.New(memkv.Options{})
	store.Close()
	err := guard.Allow(t.Context(), store, noon, guard.Try{Limit: guard.Limit{What: "knock", Times: 5, Per: time.Minute}, Who: "ann"})
	proof.Is(t, err, kv.ErrUnavailable)
}

func TestAllowSignIn_ManyTriesAtAnAddressLeaveOthersTheirs(t *testing.T) {
	store := memkv.New(memkv.Options{})
	allowed := 0
	for i := range 300 {
		if guard.AllowSignIn(t.Context(), store, noon, "ann", fmt.Sprint("192.0.2.", i%3)) == nil {
			allowed++
		}
	}
	proof.Equal(t, allowed, 3*20, "60 of 300 tries allowed")
	proof.Is(t, guard.AllowSignIn(t.Context(), store, noon, "ann", "198.51.100.1"), nil)
	for i := range 100 {
		err := guard.AllowSignIn(t.Context(), store, noon, fmt.Sprint("name", i), "203.0.113.1")
		if (err == nil) != (i < 50) {
			t.Fatalf("name %d at one address: %v", i, err)
		}
	}
	for i := range 1100 {
		err := guard.AllowSignIn(t.Context(), store, noon, "ben", fmt.Sprint("address ", i))
		if (err == nil) != (i < 1000) {
			t.Fatalf("address %d of one name: %v", i, err)
		}
	}
}

func TestAddress_IsThatOfACustomer(t *testing.T) {
	for _, test := range []struct {
		peer, forwarded string
		proxied         bool
		want            string
	}{
		{"192.0.2.1:80", "", false, "192.0.2.1"},
		{"192.0.2.1:80", "10.0.0.1", false, "192.0.2.1"},
		{"192.0.2.1:80", "10.0.0.1", true, "10.0.0.1"},
		{"192.0.2.1:80", "made up, 10.0.0.1", true, "10.0.0.1"},
		{"192.0.2.1:80", "made up", true, "192.0.2.1"},
		{"[2001:db8:1:2:3::4]:80", "", true, "2001:db8:1:2::/64"},
		{"[::ffff:192.0.2.1]:80", "", false, "192.0.2.1"},
		{"[fe80::1%eth0]:80", "", false, "fe80::/64"},
		{"@", "", false, "@"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = test.peer
		if test.forwarded != "" {
			r.Header.Set("X-Forwarded-For", test.forwarded)
		}
		proof.Equal(t, guard.Address(r, test.proxied), test.want, "%s, forwarded for %q", test.peer, test.forwarded)
	}
}
