package rediskv

import (
	"cmp"
	"context"
	"errors"
	"net"
	"time"

	"github.com/redis/rueidis"
)

func (s *Store) connect(ctx context.Context) (rueidis.Client, error) {
	client, err := s.newClient(ctx)
	if err == nil && s.opts.Track && client.Mode() == rueidis.ClientModeStandalone {
		client.Close()
		s.picks = true
		client, err = s.newClient(ctx)
	}
	if errors.Is(err, rueidis.ErrNoCache) {
		err = errors.New("the server does not announce changes (CLIENT TRACKING of RESP3)")
	}
	return client, err
}

func (s *Store) newClient(ctx context.Context) (rueidis.Client, error) {
	type connected struct {
		client rueidis.Client
		err    error
	}
	done := make(chan connected, 1)
	go func() {
		client, err := rueidis.NewClient(s.clientOption())
		done <- connected{client, err}
	}()
	late := time.After(askAfter)
	for {
		var err error
		select {
		case c := <-done:
			if c.err != nil {
				c.err = cmp.Or(s.line.mistaken(ctx), c.err)
			}
			return c.client, c.err
		case <-late:
			if s.opts.TLS == nil {
				err = s.line.mistaken(ctx)
			}
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			go func() {
				if c := <-done; c.err == nil {
					c.client.Close()
				}
			}()
			return nil, err
		}
	}
}

func (s *Store) clientOption() rueidis.ClientOption {
	opts := s.opts
	option := rueidis.ClientOption{
		InitAddress: s.targets(),
		Username:    opts.Username,
		Password:    opts.Password,
		SelectDB:    opts.DB,
		TLSConfig:   opts.TLS,
		DialCtxFn:   s.dial,
		// The contacts detect a silent server earlier.
		Dialer:           net.Dialer{Timeout: 2 * opts.Patience},
		ConnWriteTimeout: 2 * opts.Patience,
		DisableCache:     true,
		// One connection to a server batches more commands per write than several.
		PipelineMultiplex: -1,
		// Only Store.Do knows which ops are safe to repeat.
		DisableRetry:  true,
		ClusterOption: rueidis.ClusterOption{MaxMovedRedirections: 8},

		ForceSingleClient: s.sentinels != nil,
	}
	if s.changes != nil {
		// Not for the client's cache, but for the messages.
		option.DisableCache, option.ClientTrackingOptions = false, []string{}
		if s.picks {
			option.ClientTrackingOptions = []string{"OPTIN"}
		}
		option.OnInvalidations = s.changes.hear
	}
	return option
}

func (s *Store) targets() []string {
	if s.sentinels != nil {
		return []string{s.sentinels.name}
	}
	return s.opts.Addrs
}
