package plug_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// asked fills a page of n from entries, keeping every in-th.
func asked(n, in int) (found, looked, trips int) {
	for ask := plug.Ask(n, 0, 0); ask > 0; ask = plug.Ask(n, found, looked) {
		for range ask {
			if found == n {
				break
			}
			if looked++; looked%in == 0 {
				found++
			}
		}
		trips++
	}
	return found, looked, trips
}

func TestAsk_FillsAPageInFewTripsAndLooksAtTenTimesAsMany(t *testing.T) {
	for _, test := range []struct{ n, in, found, looked, trips int }{
		{20, 1, 20, 20, 1},
		{20, 2, 20, 40, 2},
		{25, 10, 25, 250, 4},
		{25, 11, 22, 250, 4},
		{25, 1 << 30, 0, 250, 4},
		{1000, 1 << 30, 0, 10_000, 4},
		{1, 1 << 30, 0, 10, 4},
		{1, 10, 1, 10, 4},
	} {
		found, looked, trips := asked(test.n, test.in)
		if found != test.found || looked != test.looked || trips != test.trips {
			t.Errorf("one in %d, %d wanted: found %d of %d in %d trips, want %d of %d in %d",
				test.in, test.n, found, looked, trips, test.found, test.looked, test.trips)
		}
	}
}

// All but one are found at once, and then nothing is kept for long.
func TestAsk_TakesFewTripsToWhatIsFarAway(t *testing.T) {
	for n, most := range map[int]int{1: 4, 20: 6, 25: 6, 100: 7, 1000: 9} {
		looked, trips := n, 1
		for ask := plug.Ask(n, n-1, looked); ask > 0; ask = plug.Ask(n, n-1, looked) {
			looked, trips = looked+ask, trips+1
		}
		if looked != 10*n || trips > most {
			t.Errorf("a page of %d looks at %d in %d trips, want %d at most", n, looked, trips, most)
		}
	}
}

func TestTooLong_CountsTheBytesThatTheAppGaveAndThoseOfTheText(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("x", 2049):                    "an id of 2049 bytes, at most 2048",
		kv.JoinText(strings.Repeat("山", 228)):        "an id of 684 bytes, which are 2052 when escaped, at most 2048",
		kv.JoinText(strings.Repeat("a b", 600), "c"): "an id of 1802 bytes, which are 3002 when escaped, at most 2048",
	} {
		err := plug.TooLong("an id", text, 2048)
		if !errors.Is(err, kv.ErrTooLarge) || err.Error() != kv.ErrTooLarge.Error()+": "+want {
			t.Errorf("want %q, got %q", want, err)
		}
	}
}
