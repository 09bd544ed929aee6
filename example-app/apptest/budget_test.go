package apptest

import (
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/example-app/demo"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// The most that a page may cost, no matter how much is in the store. The first visitor of
// a process that has just begun pays for what it gets to know.
const (
	maxTrips, maxColdTrips = 10, 12
	maxDepth, maxColdDepth = 5, 10
	maxKeys                = 300
	maxHTML                = 60 << 10
)

// manyPages is enough to make every listing continue on a second page.
const manyPages = 300

// newCrowd returns a community with n more pages, comments and views.
func newCrowd(t *testing.T, n int) (*community, *kvtest.Slow) {
	t.Helper()
	store := &kvtest.Slow{Store: openStore(t, "bolt:"+filepath.Join(t.TempDir(), "app.db")+"?durability=periodic")}
	s := open(t, store)
	c := &community{site: s, ann: s.member("ann"), ben: s.member("ben"), annElsewhere: s.visitor(), guest: s.visitor()}
	c.page = c.ann.write("tea", "Tea", strings.Repeat("One cup, or two, or three. ", 40), "drinks, words")
	c.ann.want(c.ann.post("/m/ben/follow"), 303)
	c.ann.want(c.ann.post("/t/words/follow"), 303)
	c.ben.want(c.ben.post("/m/ann/follow"), 303)
	ben := c.id("ben")
	for i := range n {
		c.addPage("ben", i)
		if i < 60 {
			_, err := c.app.Comment(t.Context(), ben, c.page, c.app.NewID(), "A remark of some length, such as people make.")
			c.must(err)
		}
		if i < 100 {
			c.look(fmt.Sprintf("page-%d", i), 1+i%3)
		}
	}
	c.ben.want(c.ben.get("/m/ann"), 200)
	c.look("tea", 1)
	return c, store
}

var trips = regexp.MustCompile(`^(\d+) trips?(?:, (\d+) deep)?`)

// costOf returns the cost that a page shows in its footer.
func costOf(t *testing.T, got reply) (all, deep int) {
	t.Helper()
	var cells []string
	in := false
	for _, tag := range tags(got.body) {
		in = in && tag.name != "/ul" || strings.Contains(tag.attrs["class"], "cost")
		if in {
			cells = append(cells, strings.TrimSpace(tag.text))
		}
	}
	found := trips.FindStringSubmatch(strings.Join(strings.Fields(strings.Join(cells, " ")), " "))
	if found == nil {
		t.Fatalf("%s shows no cost: %q", got.path, cells)
	}
	all, _ = strconv.Atoi(found[1])
	deep = all
	if found[2] != "" {
		deep, _ = strconv.Atoi(found[2])
	}
	return all, deep
}

func TestPages_CostFewTripsAndAreSmall(t *testing.T) {
	c, store := newCrowd(t, manyPages)
	for who, v := range map[string]*visitor{"ann": c.ann, "guest": c.guest} {
		for _, path := range c.withMore(v, append(c.paths(), "/t/words", "/p/page-7", "/m/ben/followers")) {
			got := v.get(path)
			if !strings.Contains(got.body, "</html>") || got.status == 303 {
				continue // This is not a page.
			}
			time := medianTime(v, path)
			all, deep := cheapest(t, v, path, store)
			keys := statedCost(t, got).Keys
			t.Logf("%-7s %-60.60s %2d trips, %d deep, %3d keys, %5.1f KB, %v", who, path, all, deep, keys, float64(len(got.body))/1024, time)
			if all > maxTrips || deep > maxDepth || keys > maxKeys {
				t.Errorf("%s for %s: want at most %d trips, %d in sequence, and %d keys, got %d, %d and %d", path, who, maxTrips, maxDepth, maxKeys, all, deep, keys)
			}
			if len(got.body) > maxHTML {
				t.Errorf("%s for %s: want at most %d bytes, got %d", path, who, maxHTML, len(got.body))
			}
		}
	}
}

// The pages that visitors begin with, in a process that knows nothing yet.
func TestPages_CostLittleInAFreshProcess(t *testing.T) {
	c, store := newCrowd(t, manyPages)
	c.settle()
	for _, path := range []string{"/", "/newest", "/feed", "/ranking?span=today", "/ranking?span=week", "/ranking", "/ranking?span=all", "/ranking?span=liked", "/p/tea", "/m/ben", "/topics", "/t/words", "/footprints", "/hood"} {
		fresh := open(t, kept{store})
		for who, v := range map[string]*visitor{"ann": c.ann, "guest": c.guest} {
			cold := *v
			cold.site = fresh
			if who == "guest" {
				cold.site = open(t, kept{store})
			}
			got := cold.get(path)
			if got.status != 200 {
				continue
			}
			all, deep := costOf(t, got)
			t.Logf("cold: %-6s %-22s %2d trips, %d deep, %s", who, path, all, deep, got.header.Get("X-Store-Cost"))
			if n := statedCost(t, got).Keys; all > maxColdTrips || deep > maxColdDepth || n > maxKeys {
				t.Errorf("%s for %s, cold: want at most %d trips, %d in sequence, and %d keys, got %d, %d and %d", path, who, maxColdTrips, maxColdDepth, maxKeys, all, deep, n)
			}
		}
	}
}

// kept is a store that other processes use, too.
type kept struct{ kvmodel.Store }

func (k kept) Powers() kv.Powers { return kv.PowersOf(k.Store) }
func (kept) Close() error        { return nil }

// A page whose cursor is not one of its list reads nothing of it.
func TestPages_RefuseABadCursorBeforeTheyRead(t *testing.T) {
	c, _ := newCrowd(t, 50)
	for _, path := range []string{"/newest?at=", "/ranking?span=today&at=", "/ranking?span=week&at=", "/ranking?span=all&at=", "/ranking?span=liked&at=", "/topics?at=", "/t/words?at=", "/feed?at=", "/m/ben?at=", "/p/tea?comments=", "/trash?at="} {
		c.ann.get(path)
		got := c.ann.get(path + "tampered")
		if got.status != 400 {
			t.Errorf("%stampered: want 400, got %d", path, got.status)
		}
		// Its session, its member and their footprints, and what names the list.
		if n := statedCost(t, got).Keys; n > 20 {
			t.Errorf("%stampered: want at most 20 keys, got %d", path, n)
		}
	}
}

// A process that has just started reads few keys for a search, and for a look under the
// hood, however many pages there are.
func TestFirstLook_ReadsFewKeys(t *testing.T) {
	store := memkv.New(memkv.Options{})
	if _, err := demo.Fill(t.Context(), store, demo.Plan{Pages: 3000, Password: password, Hash: cheap}); err != nil {
		t.Fatal(err)
	}
	type budget struct{ cold, warm kvmodel.Cost }
	for path, most := range map[string]budget{
		"/search?q=t":                     {kvmodel.Cost{Trips: 12, Keys: 210}, kvmodel.Cost{Trips: 2, Keys: 160}},
		"/search/titles?q=the":            {kvmodel.Cost{Trips: 8, Keys: 120}, kvmodel.Cost{Trips: 2, Keys: 80}},
		"/hood?list=titles&of=tide-table": {kvmodel.Cost{Trips: 10, Keys: 100}, kvmodel.Cost{Trips: 4, Keys: 100}},
		"/hood?list=followers&of=heron":   {kvmodel.Cost{Trips: 6, Keys: 20}, kvmodel.Cost{Trips: 3, Keys: 20}},
		"/hood":                           {kvmodel.Cost{Trips: 10, Keys: 300}, kvmodel.Cost{Trips: 5, Keys: 300}},
		"/hood?page=tide-table":           {kvmodel.Cost{Trips: 10, Keys: 300}, kvmodel.Cost{Trips: 5, Keys: 300}},
	} {
		v := open(t, store).visitor()
		for i, most := range []kvmodel.Cost{most.cold, most.warm} {
			answer := v.get(path)
			if answer.status != 200 {
				t.Fatalf("%s: status %d", path, answer.status)
			}
			got := statedCost(t, answer)
			t.Logf("%s, look %d: %s", path, i+1, got)
			if got.Trips > most.Trips || got.Keys > most.Keys {
				t.Errorf("%s, look %d: want at most %d trips and %d keys, got %s", path, i+1, most.Trips, most.Keys, got)
			}
		}
	}
}

// statedCost returns the cost that the header of an answer states.
func statedCost(t *testing.T, got reply) (c kvmodel.Cost) {
	t.Helper()
	_, err := fmt.Sscanf(got.header.Get("X-Store-Cost"), "%d trips (%d deep), %d ops, %d keys, %d B read", &c.Trips, &c.Depth, &c.Ops, &c.Keys, &c.Read)
	if err != nil {
		t.Fatalf("%s: cost %q: %v", got.path, got.header.Get("X-Store-Cost"), err)
	}
	return c
}

// withMore returns paths, each followed by the next page of its listing.
func (c *community) withMore(v *visitor, paths []string) []string {
	var all []string
	for _, path := range paths {
		all = append(all, path)
		for _, tag := range tags(v.get(path).body) {
			if tag.attrs["rel"] == "next" {
				all = append(all, tag.attrs["href"])
			}
		}
	}
	return all
}

func median[T cmp.Ordered](all []T) T {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// medianTime returns how long the page takes without added delays.
func medianTime(v *visitor, path string) time.Duration {
	v.t.Helper()
	var times []time.Duration
	for range 5 {
		begun := time.Now()
		v.get(path)
		times = append(times, time.Since(begun))
	}
	return median(times).Round(100 * time.Microsecond)
}

// cheapest returns the cost of the page on a slow store. It takes the least depth of
// some attempts, more if that is above maxDepth: on a busy machine parallel trips may
// run one after another.
func cheapest(t *testing.T, v *visitor, path string, store *kvtest.Slow) (all, deep int) {
	t.Helper()
	store.Wait(4 * time.Millisecond)
	defer store.Wait(0)
	all, deep = costOf(t, v.get(path))
	for n := 0; n < 2 || n < 30 && deep > maxDepth; n++ {
		moreAll, moreDeep := costOf(t, v.get(path))
		all, deep = max(all, moreAll), min(deep, moreDeep)
	}
	return all, deep
}

// A page with the longest texts is still small.
func TestPage_WithTheLongestTextsIsSmall(t *testing.T) {
	c := newCommunity(t)
	c.ann.want(c.ann.fill("/edit/"+c.page, "/edit/"+c.page, "title", strings.Repeat("x", limits["title"]), "body", strings.Repeat("long ", limits["body"]/5-1)+"end"), 303)
	if n := len(c.guest.get("/p/tea").body); n > maxHTML {
		t.Errorf("want at most %d bytes, got %d", maxHTML, n)
	}
}

func TestHome_AnswersManyAtOnce(t *testing.T) {
	c, _ := newCrowd(t, manyPages/3)
	const clients, each = 32, 30
	var wg sync.WaitGroup
	var mu sync.Mutex
	var times []time.Duration
	begun := time.Now()
	for range clients {
		wg.Go(func() {
			v := c.visitor()
			for range each {
				start := time.Now()
				got, err := v.try("GET", "/", "", nil)
				if err != nil || got.status != 200 {
					t.Errorf("home: status %d, %v", got.status, err)
					return
				}
				mu.Lock()
				times = append(times, time.Since(start))
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	took := time.Since(begun)
	if len(times) == 0 {
		t.Fatal("no answer")
	}
	slices.Sort(times)
	t.Logf("home page, %d clients on the embedded store: %.0f answers a second, median %v, 99 %% within %v",
		clients, float64(len(times))/took.Seconds(), median(times).Round(100*time.Microsecond), times[len(times)*99/100].Round(100*time.Microsecond))
}
