package boltkv

const (
	aheadMost   = 1 << 30   // bytes of a file that are read ahead: as much as a small machine has room for
	aheadAtOnce = 128 << 10 // in one read
)

// readAhead reads the file from its beginning on until the store closes, so that the system
// has it in memory. Gets ask for its pages in no order, and one that waits for the disk takes
// some fifty times as long.
//
// It reads by the descriptor that bbolt has locked: where locks belong to the process, closing
// another one would end the lock.
func (s *Store) readAhead() {
	room := make([]byte, aheadAtOnce)
	for at := 0; at < aheadMost; at += len(room) {
		select {
		case <-s.closing:
			return
		default:
		}
		if _, err := s.file.ReadAt(room, int64(at)); err != nil {
			return // It is the end, or a get will tell of it.
		}
	}
}
