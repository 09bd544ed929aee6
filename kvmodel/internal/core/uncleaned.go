package core

import "sync"

// uncleaned holds, by record, the highest rev of uncommitted entries of this process. The next
// change takes a higher one, to replace them. A forgotten record is like one of another process.
type uncleaned struct {
	mu   sync.Mutex
	revs map[string]*uncleanedRev
}

const maxUncleaned = 1 << 13

type uncleanedRev struct {
	rev     uint64
	changes int // not cleaned up yet
}

func (u *uncleaned) Note(id string, rev uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.revs == nil {
		u.revs = make(map[string]*uncleanedRev)
	}
	if u.revs[id] == nil {
		u.makeRoom()
		u.revs[id] = new(uncleanedRev)
	}
	r := u.revs[id]
	r.rev, r.changes = max(r.rev, rev), r.changes+1
}

func (u *uncleaned) makeRoom() {
	for id := range u.revs {
		if len(u.revs) < maxUncleaned {
			return
		}
		delete(u.revs, id)
	}
}

func (u *uncleaned) Forget(id string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r := u.revs[id]; r != nil && r.changes > 1 {
		r.changes--
		return
	}
	delete(u.revs, id)
}

func (u *uncleaned) Past(id string) uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	if r := u.revs[id]; r != nil {
		return r.rev
	}
	return 0
}
