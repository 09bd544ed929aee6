package boltkv

const (
	aheadMost   = 1 << 30   // the memory of a small machine
	aheadAtOnce = 128 << 10 // per read
)

// readAhead reads the file sequentially, so that the system caches it: a get that waits for the
// disk takes some fifty times as long. It uses bbolt's locked descriptor, because where locks
// belong to the process, closing another one would release the lock.
func (s *Store) readAhead() {
	room := make([]byte, aheadAtOnce)
	for at := 0; at < aheadMost; at += len(room) {
		select {
		case <-s.closing:
			return
		default:
		}
		if _, err := s.file.ReadAt(room, int64(at)); err != nil {
			return // The end of the file, or an error that a get will report.
		}
	}
}
