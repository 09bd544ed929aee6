package boltkv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ringtree/ringtree/internal/durable"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// An open store has two log files: the commits of one are moved to the tree while the other is
// appended to. A closed store has none.

func (s *Store) logPath(epoch uint64) string { return fmt.Sprintf("%s.log%d", s.path, epoch%2) }

func (s *Store) beginLog(h commitlog.Header) (*commitlog.Log, error) {
	file, err := s.disk.open(s.logPath(h.Epoch), true)
	if err != nil {
		return nil, err
	}
	log, err := commitlog.Create(file, h)
	if err == nil {
		err = s.disk.syncDir(filepath.Dir(s.path))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return log, nil
}

func (s *Store) openLog(path string) (*commitlog.Log, error) {
	file, err := s.disk.open(path, false)
	if isMissing(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	log, err := commitlog.Open(file)
	switch {
	case errors.Is(err, commitlog.ErrEmpty):
		return nil, file.Close()
	case err != nil:
		return nil, errors.Join(about(path, err), file.Close())
	case log.Store != s.id:
		return nil, errors.Join(fmt.Errorf("%w: %s is the log of another store", ErrDamaged, path), file.Close())
	}
	return log, nil
}

func damaged(err error) error {
	if errors.Is(err, commitlog.ErrDamaged) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

func (s *Store) removeLogs() error {
	var err error
	for epoch := range uint64(2) {
		if left := s.disk.remove(s.logPath(epoch)); !isMissing(left) {
			err = errors.Join(err, left)
		}
	}
	return err
}

// recover reads the logs of a store that was not closed, or begins one.
func (s *Store) recover(st state) error {
	logs := make(map[uint64]*commitlog.Log)
	defer func() {
		for _, log := range logs {
			if log != s.log && log != s.ended {
				_ = log.Close()
			}
		}
	}()
	for epoch := range uint64(2) {
		log, err := s.openLog(s.logPath(epoch))
		if err != nil {
			return err
		}
		if log != nil {
			logs[log.Epoch] = log
		}
	}
	if !st.open {
		if err := s.discard(st, logs); err != nil {
			return err
		}
		return s.beginFirstLog(st)
	}
	err := s.replay(st, logs[st.epoch], logs[st.epoch+1])
	// The previous log is not needed here, but its commits may not be shipped yet.
	if before := logs[st.epoch-1]; err == nil && before != nil && s.ended == nil {
		_, _, damaged := before.Replay(func(commitlog.Record) error { return nil })
		if damaged == nil && before.Next() == s.log.First {
			s.ended = before
		}
	}
	return err
}

// discard removes the logs of a closed store. It fails if a log has commits that the tree lacks:
// then the file is not the one closed last.
func (s *Store) discard(st state, logs map[uint64]*commitlog.Log) error {
	for epoch, log := range logs {
		n := 0
		if epoch > st.epoch {
			if _, _, err := log.Replay(func(commitlog.Record) error { n++; return nil }); err != nil {
				return about(s.logPath(log.Epoch), err)
			}
		}
		if n > 0 {
			return fmt.Errorf("%w: it was closed, but its log %s has %d commits that it lacks: is the file older than its log?", ErrDamaged, s.logPath(epoch), n)
		}
		if err := log.Close(); err != nil { // Not every system can remove an open file.
			return err
		}
	}
	return s.removeLogs()
}

func (s *Store) beginFirstLog(st state) (err error) {
	s.log, err = s.beginLog(commitlog.Header{Store: s.id, Epoch: st.epoch + 1, First: st.seq + 1})
	if err != nil {
		return fmt.Errorf("begin the log %s: %w", s.logPath(st.epoch+1), err)
	}
	s.filling.point = st.point
	return s.update(func(t *tree) {
		t.setState(func(st *state) { st.open, st.epoch = true, s.log.Epoch })
	})
}

// replay reads the commits that the tree lacks from log, and from next if that continues it. Either
// may be nil.
func (s *Store) replay(st state, log, next *commitlog.Log) error {
	switch {
	case log == nil:
		return fmt.Errorf("%w: it was not closed, and its log %s, which has its last commits, is missing or of another time", ErrDamaged, s.logPath(st.epoch))
	case log.First != st.seq+1:
		return fmt.Errorf("%w: it has commits up to %d, and its log %s begins at %d", ErrDamaged, st.seq, s.logPath(st.epoch), log.First)
	}
	s.filling.point = st.point
	ended, err := s.readLog(log)
	goesOn := next != nil && next.First == log.Next() // Only the end of log may be missing.
	if err != nil || !ended && !goesOn {
		s.log = log
		return errors.Join(err, s.drop(log, next))
	}
	if !goesOn {
		return fmt.Errorf("%w: its log %s, the continuation of %s, is missing or of another time", ErrDamaged, s.logPath(st.epoch+1), s.logPath(st.epoch))
	}
	s.moving, s.ended = s.filling, log
	s.filling, s.log = newTable(0), next
	s.filling.point = s.moving.point
	s.wake()
	_, err = s.readLog(next)
	return err
}

func (s *Store) readLog(log *commitlog.Log) (ended bool, err error) {
	ended, dropped, err := log.Replay(func(r commitlog.Record) error {
		s.version, s.lastTime = max(s.version, r.Version), max(s.lastTime, r.Time)
		s.filling.point = point{r.Seq, s.lastTime, s.version}
		return decodeChanges(r.Body, s.filling.set)
	})
	if err != nil {
		return false, about(s.logPath(log.Epoch), err)
	}
	s.tell(func(st *Stats) { st.Lost += uint64(dropped) })
	if fail := s.sync(log, log.Next()-1); fail != nil {
		return false, fail.cause
	}
	return ended, nil
}

// drop empties next, whose commits follow commits of log that a crash of the machine lost. If next
// says that those were on disk, log is damaged. next must be emptied: a removed file could reappear
// after another crash, and seem to continue log.
func (s *Store) drop(log, next *commitlog.Log) error {
	if next == nil {
		return nil
	}
	n, durable := 0, uint64(0)
	if _, _, err := next.Replay(func(r commitlog.Record) error { n, durable = n+1, max(durable, r.Durable); return nil }); err != nil {
		return about(s.logPath(next.Epoch), err)
	}
	if durable >= log.Next() {
		return fmt.Errorf("%w: its log %s ends before commit %d, and %s has %d later ones", ErrDamaged, s.logPath(log.Epoch), log.Next(), s.logPath(next.Epoch), n)
	}
	s.tell(func(st *Stats) { st.Lost += uint64(n) })
	return errors.Join(next.Empty(), next.Close())
}

func about(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", path, damaged(err))
}

type disk interface {
	open(path string, makes bool) (commitlog.File, error)
	remove(path string) error

	// syncDir returns when the names of created files are on disk. A removed file may reappear
	// after a crash.
	syncDir(dir string) error
}

type osDisk struct{}

func (osDisk) open(path string, makes bool) (commitlog.File, error) {
	flag := os.O_RDWR
	if makes {
		flag |= os.O_CREATE
	}
	file, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	return logFile{file}, nil
}

func (osDisk) remove(path string) error { return os.Remove(path) }

func (osDisk) syncDir(dir string) error { return durable.SyncDir(dir) }

type logFile struct{ *os.File }

func (f logFile) Sync() error { return syncData(f.File) }

func (f logFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
