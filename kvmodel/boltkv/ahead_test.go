package boltkv

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type watched struct {
	io.ReaderAt
	reads []int64
	ended chan struct{} // with the first failed read
	wait  func()
}

func (w *watched) ReadAt(room []byte, at int64) (int, error) {
	w.reads = append(w.reads, at)
	w.wait()
	n, err := w.ReaderAt.ReadAt(room, at)
	if err != nil {
		close(w.ended)
	}
	return n, err
}

// openWatched reads ahead from w, which reads the store's file if it has none.
func openWatched(t *testing.T, path string, w *watched) *Store {
	t.Helper()
	w.ended = make(chan struct{})
	s := need(openWith(path, Options{Durability: Unsynced}, func(s *Store) {
		if w.ReaderAt == nil {
			w.ReaderAt = s.file
		}
		s.file = w
	}))
	return s
}

func TestOpen_ReadsTheFileAhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := need(Open(path, Options{}))
	must(s.Close())
	must(os.Truncate(path, aheadAtOnce*5/2))
	w := &watched{wait: func() {}}
	s = openWatched(t, path, w)
	<-w.ended
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]int64{0, aheadAtOnce, 2 * aheadAtOnce}, w.reads); diff != "" {
		t.Errorf("where a file of two and a half reads was read (-want +got)\n%s", diff)
	}
}

type endless struct{}

func (endless) ReadAt(room []byte, _ int64) (int, error) { return len(room), nil }

func TestClose_EndsReadingAhead(t *testing.T) {
	w := &watched{ReaderAt: endless{}}
	begun, closing := make(chan struct{}), make(chan struct{})
	w.wait = func() {
		close(begun)
		<-closing
	}
	s := openWatched(t, filepath.Join(t.TempDir(), "store.db"), w)
	<-begun
	go func() { <-s.closing; close(closing) }()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if len(w.reads) != 1 {
		t.Errorf("%d reads, want the one that was under way when the store was closed", len(w.reads))
	}
}

func TestOpen_ReadsNoMoreAheadThanAMachineHasRoomFor(t *testing.T) {
	w := &watched{ReaderAt: endless{}, wait: func() {}}
	s := openWatched(t, filepath.Join(t.TempDir(), "store.db"), w)
	s.beside.Wait()
	if len(w.reads)*aheadAtOnce != 1<<30 {
		t.Errorf("%d reads of a file without an end, want 1 GiB in all", len(w.reads))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
