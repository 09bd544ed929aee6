package guard

import "sync"

// Room counts what stays open for long, such as streams: at most Most at once, and MostFrom from
// one address, so that nobody takes all places.
type Room struct {
	Most, MostFrom int

	mu   sync.Mutex
	all  int
	from map[string]int
}

// Enter takes a place for someone at an address, see Address, until leave is called. It reports
// whether there was one.
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
