package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/ringtree/ringtree/guard"
)

const (
	// pulse is how often a stream looks for new pages.
	pulse = 3 * time.Second

	// streamLife is how long a stream lasts. Then the browser opens another one if
	// it still shows the page.
	streamLife = 5 * time.Minute
)

// live sends server-sent events: how many pages were published since the stream began, or
// since the head of the ring that ?since= names; with ?hood, the pictures under the hood.
func (s *Site) live(w http.ResponseWriter, r *http.Request) {
	from := guard.Address(r, !s.config.Development)
	leave, ok := s.streams.enter(from)
	if !ok {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too many open streams; reload the page instead", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	tell, err := s.source(r)
	if err != nil {
		o := outcomeOf(err)
		http.Error(w, o.title+". "+o.says, o.status)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	ctx, cancel := context.WithTimeout(r.Context(), streamLife)
	defer cancel()
	defer context.AfterFunc(s.streams.open, cancel)()
	stream(ctx, w, tell)
}

// A source returns what a stream has to tell since it was asked last, "" for nothing.
type source func(ctx context.Context) (string, error)

// source returns the source of the stream that r asks for.
func (s *Site) source(r *http.Request) (source, error) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if query := r.URL.Query(); query.Has("hood") {
		return s.hoodSource(ctx, query)
	}
	return s.countSource(ctx, r.FormValue("since"))
}

// countSource tells how many pages are newer than the head since, or than now, whenever
// that has changed.
func (s *Site) countSource(ctx context.Context, since string) (_ source, err error) {
	newest := s.app.Models.Pages.Newest
	if since == "" {
		since, err = newest.Head(ctx)
	} else {
		_, err = newest.Since(ctx, since)
	}
	told := 0
	return func(ctx context.Context) (string, error) {
		n, err := newest.Since(ctx, since)
		if err != nil || n == told {
			return "", err
		}
		told = n
		return strconv.Itoa(n), nil
	}, err
}

// hoodSource tells of the pictures that a query asks for, whenever they have changed, with what
// has changed lit.
func (s *Site) hoodSource(ctx context.Context, query url.Values) (source, error) {
	before, err := s.draw(ctx, query)
	return func(ctx context.Context) (string, error) {
		now, err := s.draw(ctx, query)
		if err != nil {
			return "", err
		}
		changed := lit(now, before)
		before = now
		return changed, nil
	}, err
}

// stream writes an event whenever tell has something to say. It ends when ctx ends or the visitor
// leaves.
func stream(ctx context.Context, w http.ResponseWriter, tell source) {
	control := http.NewResponseController(w)
	tick := time.NewTicker(pulse)
	defer tick.Stop()
	for event := "retry: 10000\n\n"; ; {
		// The server's deadline suits pages, so a stream sets its own with each event.
		_ = control.SetWriteDeadline(time.Now().Add(3 * pulse))
		fmt.Fprint(w, event)
		if control.Flush() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		event = ":\n\n"
		if data, err := tell(ctx); err == nil && data != "" {
			event = "data: " + data + "\n\n"
		}
	}
}

// maxStreams is the number of streams that may be open at once, and maxStreamsFrom that of
// those at one address. Further visitors have to reload the page instead.
const maxStreams, maxStreamsFrom = 64, 16

// streams counts the open streams by their addresses, and can end all of them.
type streams struct {
	open context.Context // ends with all streams
	end  context.CancelFunc

	mu   sync.Mutex
	all  int
	from map[string]int
}

func newStreams() *streams {
	s := &streams{from: make(map[string]int)}
	s.open, s.end = context.WithCancel(context.Background())
	return s
}

// enter counts a stream at an address, until leave is called. It reports whether there was room.
func (s *streams) enter(from string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open.Err() != nil || s.all == maxStreams || s.from[from] == maxStreamsFrom {
		return nil, false
	}
	s.all++
	s.from[from]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.from[from]--; s.from[from] == 0 {
			delete(s.from, from)
		}
	}, true
}
