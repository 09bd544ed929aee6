package boltkv

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// watched is a file that notes where it is read.
type watched struct {
	io.ReaderAt
	reads []int64
	wait  func()
}

func (w *watched) ReadAt(room []byte, at int64) (int, error) {
	w.reads = append(w.reads, at)
	w.wait()
	return w.ReaderAt.ReadAt(room, at)
}

// openWatched reads ahead from w, which reads the store's file if it has none.
func openWatched(t *testing.T, path string, w *watched) *Store {
	t.Helper()
	return need(openWith(path, Options{Durability: Unsynced}, func(s *Store) {
		if w.ReaderAt == nil {
			w.ReaderAt = s.file
		}
		s.file = w
	}))
}

func TestOpen_ReadsTheFileAhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	closes(t, need(Open(path, Options{})))
	must(os.Truncate(path, aheadAtOnce*5/2))
	w := &watched{wait: func() {}}
	s := openWatched(t, path, w)
	s.beside.Wait()
	closes(t, s)
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
	closes(t, s)
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
	closes(t, s)
}
