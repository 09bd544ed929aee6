package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/ringtree/ringtree/guard"
)

const (
	// pulse is the time between two looks for changes.
	pulse = 3 * time.Second

	// streamLife is how long a stream lives. Then the browser opens another.
	streamLife = 5 * time.Minute
)

// source returns the live parts of a page, with the changes since the last call highlighted.
type source func(ctx context.Context) (templ.Component, error)

// source returns the source of the home page or, with ?show=hood, of that page.
func (s *Site) source(query url.Values) source {
	var before []drawing
	lit := func(now []drawing) (all []drawing) {
		for i, d := range now {
			if i < len(before) {
				d = d.litSince(before[i])
			}
			all = append(all, d)
		}
		before = now
		return all
	}
	if query.Get("show") == "hood" {
		return func(ctx context.Context) (templ.Component, error) {
			now, err := s.drawAll(ctx, query.Get("list"), query.Get("of"))
			return drawings(lit(now)), err
		}
	}
	return func(ctx context.Context) (templ.Component, error) {
		now, err := s.readHome(ctx, true)
		if err != nil {
			return nil, err
		}
		both := lit([]drawing{now.Ring, now.Tree})
		now.Ring, now.Tree = both[0], both[1]
		return homeParts(now, s.now()), nil
	}
}

// live sends the parts of a page whenever they have changed.
func (s *Site) live(w http.ResponseWriter, r *http.Request) {
	leave, ok := s.streams.Enter(guard.Address(r, !s.config.Development))
	if !ok {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too many open streams; reload the page instead", http.StatusServiceUnavailable)
		return
	}
	defer leave()
	tell := s.source(r.URL.Query())
	event, err := eventOf(r.Context(), tell)
	if err != nil {
		o := outcomeOf(err)
		http.Error(w, o.title+". "+o.says, o.status)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	ctx, cancel := context.WithTimeout(r.Context(), streamLife)
	defer cancel()
	defer context.AfterFunc(s.open, cancel)()
	stream(ctx, w, "retry: 10000\n"+event, tell)
}

func eventOf(ctx context.Context, tell source) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	parts, err := tell(ctx)
	if err != nil {
		return "", err
	}
	var markup strings.Builder
	err = parts.Render(ctx, &markup)
	return "data: " + strings.ReplaceAll(markup.String(), "\n", " ") + "\n\n", err
}

// stream ends with ctx, or when the visitor leaves.
func stream(ctx context.Context, w http.ResponseWriter, event string, tell source) {
	control := http.NewResponseController(w)
	tick := time.NewTicker(pulse)
	defer tick.Stop()
	for last := event; ; {
		// The server's deadline suits pages, so a stream sets its own for each event.
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
		if now, err := eventOf(ctx, tell); err == nil && now != last {
			event, last = now, now
		}
	}
}
