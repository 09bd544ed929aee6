package memcachekv

import "time"

// AgeLooks makes the next operation on each idle connection read the boot number
// again, as happens after a minute of use.
func (s *Store) AgeLooks() {
	for _, srv := range s.servers {
		srv.mu.Lock()
		for _, l := range srv.idle {
			l.looked = time.Time{}
		}
		srv.mu.Unlock()
	}
}

// ServerOf returns the address of the server that key lives on.
func (s *Store) ServerOf(key string) string { return pick(s.servers, key).addr }
