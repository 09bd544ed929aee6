package rediskv

const maxIdle = 64

// senders are goroutines that send flights for callers who may leave before the reply. Starting one
// for each call would cost as much as the rest of the call.
type senders struct {
	next chan *flight
	idle chan struct{} // one token per idle sender
	quit chan struct{}
}

func newSenders() senders {
	return senders{make(chan *flight), make(chan struct{}, maxIdle), make(chan struct{})}
}

func (s senders) send(f *flight) {
	select {
	case s.next <- f:
	default:
		go s.run(f)
	}
}

func (s senders) run(f *flight) {
	for f != nil {
		f.sendForOthers()
		f.done <- struct{}{}
		f = s.await()
	}
}

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
