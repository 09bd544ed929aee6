package boltkv

const (
	aheadMost   = 1 << 30   // the memory of a small machine
	aheadAtOnce = 128 << 10 // per read
)

// readAhead has the system cache the file. It uses bbolt's locked descriptor: closing another one
// could release the lock.
func (s *Store) readAhead() {
	room := make([]byte, aheadAtOnce)
	for at := 0; at < aheadMost; at += len(room) {
		select {
		case <-s.closing:
			return
		default:
		}
		if _, err := s.file.ReadAt(room, int64(at)); err != nil {
			return
		}
	}
}
