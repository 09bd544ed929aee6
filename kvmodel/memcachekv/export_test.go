package memcachekv

import "context"

// AgeLooks makes the next operation on each server read its boot item again.
func (s *Store) AgeLooks() { s.memory.Doubt() }

func (s *Store) Accept(ctx context.Context) error {
	_, err := s.memory.Accept(ctx)
	return err
}

func (s *Store) ServerOf(key string) string { return pick(s.servers, key).addr }
