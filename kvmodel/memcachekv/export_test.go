package memcachekv

import "context"

// AgeLooks makes the next operation on each server look at its boot item again, as
// happens after some seconds of use.
func (s *Store) AgeLooks() { s.memory.Doubt() }

// Accept accepts what is lost.
func (s *Store) Accept(ctx context.Context) error {
	_, err := s.memory.Accept(ctx)
	return err
}

// ServerOf returns the address of the server that key lives on.
func (s *Store) ServerOf(key string) string { return pick(s.servers, key).addr }
