package peers

import (
	"context"
	"errors"
	"strings"

	"github.com/ringtree/ringtree/bench/compare/sampleapp"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
)

// Sampler is a peer that can hold the sample app's data, too.
type Sampler interface {
	// LoadSample makes the data of a site with n pages. There is none.
	LoadSample(ctx context.Context, n int) error

	// Sample returns the site, nil if none was loaded.
	Sample() sampleapp.Site
}

// sampled holds the site of a Sampler.
type sampled struct{ site sampleapp.Site }

func (s *sampled) Sample() sampleapp.Site { return s.site }

func (g *gormPeer) LoadSample(ctx context.Context, n int) error {
	site := &sampleapp.Gorm{DB: g.db}
	g.site = site
	return site.Load(ctx, n)
}

func (p *pgxPeer) LoadSample(ctx context.Context, n int) error {
	site := &sampleapp.Pgx{Pool: p.pool}
	p.site = site
	return site.Load(ctx, n)
}

// LoadSample makes the site in a file of its own, or under keys of its own. In a file it does
// not wait for the disk at each of its writes.
func (r *ringtree) LoadSample(ctx context.Context, n int) error {
	url := r.url
	if embedded(url) {
		url = strings.Replace(url, ".db?", "-sample.db?", 1)
		site, err := openSample(ctx, unsynced(url))
		if err != nil {
			return err
		}
		if err := errors.Join(site.Load(ctx, n), site.App.DB().Close(ctx)); err != nil {
			return err
		}
	}
	site, err := openSample(ctx, url)
	if err != nil {
		return err
	}
	r.site = site
	if embedded(url) {
		return nil
	}
	return site.Load(ctx, n)
}

// openSample opens the site in the store at url, as a tenant of it.
func openSample(ctx context.Context, url string) (*sampleapp.Ringtree, error) {
	store, err := kvopen.Store(ctx, url, all.Engines)
	if err != nil {
		return nil, err
	}
	own, err := kv.Prefix(store, "sample")
	if err == nil {
		var site *sampleapp.Ringtree
		if site, err = sampleapp.NewRingtree(own); err == nil {
			return site, nil
		}
	}
	return nil, errors.Join(err, store.Close())
}

func (r *ringtree) closeSample() error {
	if site, ok := r.site.(*sampleapp.Ringtree); ok {
		return site.App.DB().Close(context.Background())
	}
	return nil
}
