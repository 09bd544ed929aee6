package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
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
	tell, who, err := s.listen(r)
	if err != nil {
		o := outcomeOf(err)
		http.Error(w, o.title+". "+o.says, o.status)
		return
	}
	ended, ok := s.streams.enter(who, s.addressOf(r))
	if !ok {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too many open streams; reload the page instead", http.StatusServiceUnavailable)
		return
	}
	defer s.streams.leave(who, ended)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	ctx, cancel := context.WithTimeout(r.Context(), streamLife)
	defer cancel()
	stream(ctx, w, tell, ended)
}

// listen returns the source of the stream that r asks for, and the visitor that it is for:
// a member, or else an address.
func (s *Site) listen(r *http.Request) (tell source, who string, err error) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if query := r.URL.Query(); query.Has("hood") {
		tell, err = s.hoodSource(ctx, query)
	} else {
		tell, err = s.countSource(ctx, query.Get("since"))
	}
	if err != nil {
		return nil, "", err
	}
	session, err := s.sessions.New(r.WithContext(ctx), s.config.cookie(cookieName))
	if member := s.sessions.User(session); member != "" {
		return tell, "member " + member, err
	}
	return tell, "address " + s.addressOf(r), err
}

// A source returns what a stream has to tell since it was asked last, "" for nothing.
type source func(ctx context.Context) (string, error)

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

// stream writes an event whenever tell has something to say. It ends when ctx
// ends or the visitor leaves, and when ended is closed: then it tells the script to open no
// other, since the visitor has one on a later page.
func stream(ctx context.Context, w http.ResponseWriter, tell source, ended chan struct{}) {
	control := http.NewResponseController(w)
	// The server's deadline suits pages, so a stream sets its own with each event.
	extend := func() { _ = control.SetWriteDeadline(time.Now().Add(3 * pulse)) }
	extend()
	tick := time.NewTicker(pulse)
	defer tick.Stop()
	fmt.Fprint(w, "retry: 10000\n\n")
	for control.Flush() == nil {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			fmt.Fprint(w, "event: over\ndata:\n\n")
			return
		case <-tick.C:
		}
		extend()
		data, err := tell(ctx)
		if err != nil || data == "" {
			fmt.Fprint(w, ":\n\n")
			continue
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
}
