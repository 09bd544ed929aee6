package boltkv

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/kvmodel"
)

var errDisk = errors.New("the disk says no")

// open returns a store whose commits are carried out by commit.
func open(t *testing.T, commit func(*bolt.Tx) error) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "store.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	s.commit = commit
	return s
}

func wantErr(t *testing.T, err error, want, not error) {
	t.Helper()
	if !errors.Is(err, want) || errors.Is(err, not) {
		t.Errorf("error is %v, want %v and not %v", err, want, not)
	}
}

func TestStore_Do_CommitThatFailsWasNotCarriedOut(t *testing.T) {
	fails := true
	s := open(t, func(tx *bolt.Tx) error {
		if !fails {
			return tx.Commit()
		}
		// As bbolt does when it cannot write or sync its pages.
		return errors.Join(errDisk, tx.Rollback())
	})
	ops := []kvmodel.Op{
		kvmodel.OpSet("a", nil), kvmodel.OpAdd("a", nil), kvmodel.OpGet("a"), kvmodel.OpDelete("b"), kvmodel.OpSet("", nil),
	}
	wantErr(t, s.Do(t.Context(), ops), kvmodel.ErrUnavailable, kvmodel.ErrUnclear)
	for _, op := range ops[:4] {
		// Also ErrExists was an answer about what has come to nothing.
		wantErr(t, op.Err(), kvmodel.ErrUnavailable, kvmodel.ErrExists)
		wantErr(t, op.Err(), errDisk, kvmodel.ErrNotFound)
	}
	wantErr(t, ops[4].Err(), kvmodel.ErrBadKey, kvmodel.ErrUnavailable)

	own := errors.New("taken")
	err := s.atomic(t.Context(), func(s kvmodel.Store) error {
		_, err := kvmodel.One(t.Context(), s, kvmodel.OpSet("b", nil))
		return err
	})
	wantErr(t, err, kvmodel.ErrUnavailable, own)

	fails = false
	for _, key := range []string{"a", "b"} {
		if _, err := kvmodel.One(t.Context(), s, kvmodel.OpAdd(key, nil)); err != nil {
			t.Errorf("a write after the failure: %v", err)
		}
	}
}

func TestStore_Do_CommitOfUnknownFateIsUnclearAndTheLast(t *testing.T) {
	s := open(t, func(tx *bolt.Tx) error {
		// As bbolt does when only the last sync fails.
		return errors.Join(tx.Commit(), errDisk)
	})
	ops := []kvmodel.Op{kvmodel.OpSet("a", nil), kvmodel.OpAdd("a", nil), kvmodel.OpGet("a")}
	wantErr(t, s.Do(t.Context(), ops), kvmodel.ErrUnclear, kvmodel.ErrUnavailable)
	wantErr(t, ops[1].Err(), kvmodel.ErrUnclear, kvmodel.ErrExists)
	wantErr(t, ops[2].Err(), kvmodel.ErrUnavailable, kvmodel.ErrUnclear)
	for _, op := range []kvmodel.Op{kvmodel.OpSet("b", nil), kvmodel.OpGet("a")} {
		_, err := kvmodel.One(t.Context(), s, op)
		wantErr(t, err, kvmodel.ErrUnavailable, kvmodel.ErrUnclear)
		wantErr(t, err, errDisk, kvmodel.ErrNotFound)
	}
	wantErr(t, s.atomic(t.Context(), func(kvmodel.Store) error { return nil }), kvmodel.ErrUnavailable, nil)
}

func TestStore_Do_PanicInACommitStopsTheStoreAndNotTheProgram(t *testing.T) {
	s := open(t, func(*bolt.Tx) error { panic("assertion failed: page 7") })
	_, err := kvmodel.One(t.Context(), s, kvmodel.OpSet("a", nil))
	wantErr(t, err, kvmodel.ErrUnclear, kvmodel.ErrUnavailable)
	_, err = kvmodel.One(t.Context(), s, kvmodel.OpGet("a"))
	wantErr(t, err, ErrDamaged, kvmodel.ErrNotFound)
}

func TestStore_Do_CancelledDuringItsCommitIsUnclearAndFinishes(t *testing.T) {
	committing, goOn := make(chan struct{}, 9), make(chan struct{})
	s := open(t, func(tx *bolt.Tx) error {
		committing <- struct{}{}
		<-goOn
		return tx.Commit()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-committing
		cancel()
	}()
	ops := []kvmodel.Op{kvmodel.OpSet("a", []byte("v")), kvmodel.OpGet("a")}
	start := time.Now()
	wantErr(t, s.Do(ctx, ops), kvmodel.ErrUnclear, kvmodel.ErrUnavailable)
	wantErr(t, ops[0].Err(), context.Canceled, nil)
	wantErr(t, ops[1].Err(), kvmodel.ErrUnavailable, kvmodel.ErrUnclear)
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v to return", took)
	}
	close(goOn)
	// The next commit comes after the one that was left.
	if _, err := kvmodel.One(t.Context(), s, kvmodel.OpSet("b", nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := kvmodel.One(t.Context(), s, kvmodel.OpGet("a")); err != nil {
		t.Errorf("the write that was left is not there: %v", err)
	}
}

func TestStore_Atomic_ErrorThatRestsOnAFailedCommitIsNotGiven(t *testing.T) {
	s := open(t, func(tx *bolt.Tx) error { return errors.Join(errDisk, tx.Rollback()) })
	taken := errors.New("taken")
	setting := make(chan struct{})
	first := make(chan error, 1)
	go func() {
		first <- s.atomic(context.Background(), func(s kvmodel.Store) error {
			close(setting)
			// The second change is waiting for its turn when this ends.
			time.Sleep(100 * time.Millisecond)
			_, err := kvmodel.One(context.Background(), s, kvmodel.OpAdd("name", nil))
			return err
		})
	}()
	<-setting
	second := s.atomic(t.Context(), func(s kvmodel.Store) error {
		if _, err := kvmodel.One(t.Context(), s, kvmodel.OpAdd("name", nil)); err != nil {
			return taken
		}
		return nil
	})
	wantErr(t, <-first, kvmodel.ErrUnavailable, nil)
	wantErr(t, second, kvmodel.ErrUnavailable, taken)
}
