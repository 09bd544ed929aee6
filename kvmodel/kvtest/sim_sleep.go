package kvtest

import "time"

func (p *process) sleep(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wakes, p.sleepers = time.Now().Add(d), 0
}

func (p *process) asleep() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.dead && time.Now().Before(p.wakes)
}

// rest returns when the process is awake. Calls return one after another, since they may draw from
// crypto/rand.
func (p *process) rest() {
	for p.asleep() {
		p.mu.Lock()
		p.sleepers++
		left := time.Until(p.wakes) + time.Duration(1000*p.sleepers+p.number)
		p.mu.Unlock()
		time.Sleep(left)
	}
}
