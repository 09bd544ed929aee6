package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Crowd is a number of visitors who walk through a site. Each begins at the first
// page and follows one link after another. They do not log in or send forms.
type Crowd struct {
	URL      string // of the first page, on this machine
	Visitors int    // at the same time, 1 to 256

	// Report, if not nil, is called every second with the rate in that second.
	Report func(Rate)
}

// Rate is what visitors got in some time.
type Rate struct {
	Pages  int // that came
	Failed int // pages that did not come, or came with a status of 500 or more
	Took   time.Duration
	Median time.Duration // of the pages that came
	Worst  time.Duration
}

func (r Rate) String() string {
	return fmt.Sprintf("%.0f pages per second, %d failed, median %s, worst %s",
		float64(r.Pages)/max(r.Took.Seconds(), 1e-3), r.Failed, r.Median.Round(100*time.Microsecond), r.Worst.Round(100*time.Microsecond))
}

// Walk lets the visitors walk until ctx ends, and returns the rate over the whole
// time. The error says what is wrong with c, or that the first page did not come.
func (c Crowd) Walk(ctx context.Context) (Rate, error) {
	first, err := url.Parse(c.URL)
	if err != nil || first.Scheme != "http" && first.Scheme != "https" {
		return Rate{}, fmt.Errorf("demo: %q is not the URL of a site", c.URL)
	}
	if !loopback(first.Hostname()) {
		return Rate{}, fmt.Errorf("demo: %s is another machine; visitors go to this one only", first.Host)
	}
	if c.Visitors < 1 || c.Visitors > 256 {
		return Rate{}, fmt.Errorf("demo: %d visitors: want 1 to 256", c.Visitors)
	}
	w := &walk{first: first, begin: time.Now(), client: &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: c.Visitors},
	}}
	defer w.client.CloseIdleConnections()
	if _, err := w.get(ctx, first); err != nil {
		return Rate{}, err
	}
	var all sync.WaitGroup
	for range c.Visitors {
		all.Go(func() { w.visitor(ctx) })
	}
	c.report(ctx, w)
	all.Wait()
	return w.rate(&w.whole, time.Since(w.begin)), nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// report reports the rate of every second until ctx ends.
func (c Crowd) report(ctx context.Context, w *walk) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if c.Report != nil {
				c.Report(w.rate(&w.second, time.Second))
			}
		}
	}
}

// walk is what the visitors of one Walk have in common.
type walk struct {
	first  *url.URL
	client *http.Client
	begin  time.Time

	mu            sync.Mutex
	second, whole tally
}

// tally is what visitors got so far.
type tally struct {
	took   []time.Duration // of the pages that came, or of a random sample of them
	pages  int
	failed int
}

// sampled is how many durations a tally keeps.
const sampled = 10_000

func (t *tally) add(took time.Duration, err error) {
	if err != nil {
		t.failed++
		return
	}
	t.pages++
	if len(t.took) < sampled {
		t.took = append(t.took, took)
	} else if at := rand.IntN(t.pages); at < sampled {
		t.took[at] = took
	}
}

// rate returns the rate in t and empties t.
func (w *walk) rate(t *tally, took time.Duration) Rate {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := Rate{Pages: t.pages, Failed: t.failed, Took: took}
	if len(t.took) > 0 {
		slices.Sort(t.took)
		r.Median, r.Worst = t.took[len(t.took)/2], t.took[len(t.took)-1]
	}
	*t = tally{}
	return r
}

// farthest is how many links a visitor follows before the next visitor comes.
const farthest = 30

func (w *walk) visitor(ctx context.Context) {
	for ctx.Err() == nil {
		at := w.first
		for range farthest {
			links, err := w.timed(ctx, at)
			if err != nil || len(links) == 0 {
				break
			}
			at = links[rand.IntN(len(links))]
		}
	}
}

// timed gets a page and counts it, unless the walk ends first. After a failure it
// waits a moment.
func (w *walk) timed(ctx context.Context, at *url.URL) ([]*url.URL, error) {
	begin := time.Now()
	links, err := w.get(ctx, at)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	w.mu.Lock()
	w.second.add(time.Since(begin), err)
	w.whole.add(time.Since(begin), err)
	w.mu.Unlock()
	if err != nil {
		kv.Sleep(ctx, 100*time.Millisecond)
	}
	return links, err
}

const largestPage = 1 << 20

var errFailed = errors.New("the site failed")

// get returns the links on a page. A page that does not exist has none.
func (w *walk) get(ctx context.Context, at *url.URL) ([]*url.URL, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	response, err := w.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, largestPage))
	if err == nil && response.StatusCode >= http.StatusInternalServerError {
		err = fmt.Errorf("%w: %s returned %s", errFailed, at, response.Status)
	}
	return w.links(at, string(body)), err
}

var href = regexp.MustCompile(`(?:<a [^>]*href|<form [^>]*role="search" action)="(/[^"]*)"`)

// links returns where the links on a page lead within the site.
func (w *walk) links(at *url.URL, body string) []*url.URL {
	var all []*url.URL
	for _, match := range href.FindAllStringSubmatch(body, -1) {
		to, err := at.Parse(strings.ReplaceAll(match[1], "&amp;", "&"))
		if err == nil && to.Host == w.first.Host {
			to.Fragment = ""
			all = append(all, to)
		}
	}
	return all
}
