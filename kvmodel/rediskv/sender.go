package rediskv

// maxIdle is how many senders stay when nothing is to be sent.
const maxIdle = 64

// senders are goroutines that send flights for callers who may leave before
// the reply. One that is done stays for the next flight, since starting one
// anew for each call would cost as much as the rest of the call.
type senders struct {
	next chan *flight  // to one that is idle
	idle chan struct{} // holds a token for each idle one
	quit chan struct{} // closed when they shall end
}

func newSenders() senders {
	return senders{make(chan *flight), make(chan struct{}, maxIdle), make(chan struct{})}
}

// send has f sent by an idle sender or a new one, which then says so on f.done.
func (s senders) send(f *flight) {
	select {
	case s.next <- f:
	default:
		go s.run(f)
	}
}

func (s senders) run(f *flight) {
	for f != nil {
		f.sendAll()
		f.done <- struct{}{}
		f = s.await()
	}
}

// await returns the next flight, or nil if the sender is not needed any more.
func (s senders) await() *flight {
	select {
	case s.idle <- struct{}{}:
	default:
		return nil
	}
	defer func() { <-s.idle }()
	select {
	case f := <-s.next:
		return f
	case <-s.quit:
		return nil
	}
}
