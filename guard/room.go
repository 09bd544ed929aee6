package guard

import "sync"

// Room limits long connections, such as streams: Most at once, and MostFrom from one address.
type Room struct {
	Most, MostFrom int

	mu   sync.Mutex
	all  int
	from map[string]int
}

// Enter takes a place for an [Address], until leave is called. ok is false if there is none.
func (r *Room) Enter(address string) (leave func(), ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == r.Most || r.from[address] == r.MostFrom {
		return nil, false
	}
	r.count(address, 1)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.count(address, -1)
	}, true
}

func (r *Room) count(address string, n int) {
	if r.from == nil {
		r.from = make(map[string]int)
	}
	r.all += n
	if r.from[address] += n; r.from[address] == 0 {
		delete(r.from, address)
	}
}
