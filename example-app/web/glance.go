package web

import (
	"context"
	"maps"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
)

// glances share looks under the hood among the streams that want the same one: it is
// taken once in a pulse, however many visitors watch.
type glances struct {
	mu  sync.Mutex
	all map[string]*glance // by query
}

type glance struct {
	asked time.Time // when it was last wanted; guarded by glances.mu

	mu    sync.Mutex // held while looks are taken
	taken time.Time
	looks []*ashiato.Look
}

// kept is how long a look that nobody wants again stays.
const kept = time.Minute

// get returns the looks of key, which look takes if there are none of this pulse.
func (g *glances) get(key string, look func() ([]*ashiato.Look, error)) ([]*ashiato.Look, error) {
	one := g.of(key)
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.looks != nil && time.Since(one.taken) < pulse/2 {
		return one.looks, nil
	}
	looks, err := look()
	if err == nil {
		one.taken, one.looks = time.Now(), looks
	}
	return looks, err
}

// of returns the glance of key, and forgets those that nobody wants any more.
func (g *glances) of(key string) *glance {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.all, func(_ string, old *glance) bool { return time.Since(old.asked) > kept })
	one := g.all[key]
	if one == nil {
		one = new(glance)
		g.all[key] = one
	}
	one.asked = time.Now()
	return one
}

// hoodSource tells a stream of the pictures that a query asks for, whenever they have
// changed, with what has changed lit.
func (s *Site) hoodSource(ctx context.Context, query url.Values) (source, error) {
	query = hoodQuery(query)
	glance := func(ctx context.Context) ([]*ashiato.Look, error) {
		return s.glances.get(query.Encode(), func() ([]*ashiato.Look, error) { return s.look(ctx, query) })
	}
	before, err := glance(ctx)
	if err != nil {
		return nil, err
	}
	plain := s.drawn(before, nil)
	return func(ctx context.Context) (string, error) {
		now, err := glance(ctx)
		if err != nil {
			return "", err
		}
		lit := s.drawn(now, before)
		if lit == plain {
			return "", nil
		}
		before, plain = now, s.drawn(now, nil)
		return lit, nil
	}, nil
}

// drawn returns the markup of looks on one line.
func (s *Site) drawn(looks, before []*ashiato.Look) string {
	var markup strings.Builder
	// Without a deadline, nothing fails.
	_ = pages.Pictures(looks, before, s.part()).Render(context.Background(), &markup)
	return strings.ReplaceAll(markup.String(), "\n", " ")
}
