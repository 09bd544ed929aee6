package web

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

const (
	// pulse is how often a stream looks for new pages.
	pulse = 3 * time.Second

	// streamLife is how long a stream lasts. Then the browser opens another one if
	// it still shows the page.
	streamLife = 5 * time.Minute
)

// live sends, as server-sent events, how many pages were published since the stream
// began, or since the head of the ring that ?since= names.
func (s *Site) live(w http.ResponseWriter, r *http.Request) {
	since, err := s.sinceOf(r)
	if err != nil {
		o := outcomeOf(err)
		http.Error(w, o.title+". "+o.says, o.status)
		return
	}
	who, err := s.whose(r)
	if err != nil {
		o := outcomeOf(err)
		http.Error(w, o.title+". "+o.says, o.status)
		return
	}
	ended, ok := s.streams.enter(who)
	if !ok {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too many open streams; reload the page instead", http.StatusServiceUnavailable)
		return
	}
	defer s.streams.leave(who, ended)
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-store")
	ctx, cancel := context.WithTimeout(r.Context(), streamLife)
	defer cancel()
	s.stream(ctx, w, since, ended)
}

// whose returns the visitor that a stream is for: a member, or else an address.
func (s *Site) whose(r *http.Request) (string, error) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	session, err := s.sessions.New(r.WithContext(ctx), s.config.cookie(cookieName))
	if member := s.sessions.User(session); err != nil || member != "" {
		return "member " + member, err
	}
	return "address " + addressOf(r, !s.config.Development), nil
}

// sinceOf returns the head of the ring from which a stream counts.
func (s *Site) sinceOf(r *http.Request) (string, error) {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	since := r.URL.Query().Get("since")
	if since == "" {
		return s.app.Models.Pages.Newest.Head(ctx)
	}
	_, err := s.app.Models.Pages.Newest.Since(ctx, since)
	return since, err
}

// stream writes an event whenever the number of new pages changes. It ends when ctx
// ends or the visitor leaves, and when ended is closed: then it tells the script to open no
// other, since the visitor has one on a later page.
func (s *Site) stream(ctx context.Context, w http.ResponseWriter, since string, ended chan struct{}) {
	control := http.NewResponseController(w)
	// The server's deadline suits pages, so a stream sets its own with each event.
	extend := func() { _ = control.SetWriteDeadline(time.Now().Add(3 * pulse)) }
	extend()
	tick := time.NewTicker(pulse)
	defer tick.Stop()
	fmt.Fprint(w, "retry: 10000\n\n")
	for sent := 0; control.Flush() == nil; {
		select {
		case <-ctx.Done():
			return
		case <-ended:
			fmt.Fprint(w, "event: over\ndata:\n\n")
			return
		case <-tick.C:
		}
		extend()
		n, err := s.app.Models.Pages.Newest.Since(ctx, since)
		if err != nil || n == sent {
			fmt.Fprint(w, ":\n\n")
			continue
		}
		sent = n
		fmt.Fprintf(w, "data: %d\n\n", n)
	}
}
