package boltkv

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/shelf"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// copyOf opens a copy of what r ships.
func (r *followedRig) copyOf(path string) *Follower {
	r.t.Helper()
	f, err := OpenFollower(context.Background(), r.shelf, path)
	if err != nil {
		r.t.Fatal(err)
	}
	return f
}

// shown returns what f shows in one trip, and how many commits of a rig that is.
func shown(t *testing.T, f *Follower) (all map[string]string, commits int) {
	t.Helper()
	ops := []kv.Op{kv.OpGet("commit")}
	for i := range rigKeys {
		ops = append(ops, kv.OpGet(rigKey(i)))
	}
	if err := f.Do(context.Background(), ops); err != nil {
		t.Fatal(err)
	}
	all = make(map[string]string)
	for _, op := range ops {
		if op.Result.Err == nil {
			all[op.Key] = string(op.Result.Value)
		}
	}
	commits, _ = strconv.Atoi(all["commit"])
	return all, commits
}

// showing returns when f shows what r's store holds.
func (r *followedRig) showing(f *Follower) {
	r.t.Helper()
	for {
		all, _ := shown(r.t, f)
		if maps.Equal(all, r.history[r.commits]) {
			return
		}
		if trouble := f.Following().Trouble; trouble != nil {
			r.t.Fatalf("the copy cannot go on: %v", trouble)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestFollower_ShowsWhatTheStoreHeldAfterOneOfItsCommits(t *testing.T) {
	for seed := range seeds(3) {
		r := newFollowedRig(t, seed, Synced)
		r.shipped()
		path := filepath.Join(t.TempDir(), "copy.db")
		f := r.copyOf(path)
		before := 0
		for range 5 {
			for range r.random.IntN(100) {
				r.write()
				if all, commits := shown(t, f); commits < before || !maps.Equal(all, r.history[commits]) {
					t.Fatalf("seed %d: the copy does not show what there was after commit %d, or went back from %d", seed, commits, before)
				} else {
					before = commits
				}
			}
			switch r.random.IntN(3) {
			case 0:
				r.restart()
			case 1:
				r.showing(f)
				if err := f.Close(); err != nil {
					t.Fatal(err)
				}
				f = r.copyOf(path)
			}
		}
		r.showing(f)
		if n := f.Following().Copies; n > 1 {
			t.Errorf("seed %d: the copy was made %d times", seed, n)
		}
		if err := errors.Join(f.Close(), r.store.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFollower_RefusesWritesAtOnceAndSaysHowFarItIs(t *testing.T) {
	r := newFollowedRig(t, 1, Synced)
	r.write()
	r.shipped()
	f := r.copyOf(filepath.Join(t.TempDir(), "copy.db"))
	r.showing(f)
	ops := []kv.Op{kv.OpGet("commit"), kv.OpSet("key", nil), kv.OpAppend("key", []byte("x")), kv.OpDelete("commit")}
	err := f.Do(t.Context(), ops)
	if !errors.Is(err, kv.ErrReadOnly) || !errors.Is(err, kv.ErrUnavailable) {
		t.Errorf("writes: want an ErrReadOnly that is an ErrUnavailable, got %v", err)
	}
	if got := string(ops[0].Result.Value); got != "1" {
		t.Errorf("the read beside them: want 1, got %q, %v", got, ops[0].Result.Err)
	}
	for now := f.Following(); now.Behind() > 10*time.Second; now = f.Following() {
		if now.Trouble != nil {
			t.Fatal(now.Trouble)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := kv.One(t.Context(), f, kv.OpGet("commit")); !errors.Is(err, kv.ErrUnavailable) {
		t.Errorf("a read of one that is closed: want an ErrUnavailable, got %v", err)
	}
}

func TestOpen_RefusesACopy(t *testing.T) {
	r := newFollowedRig(t, 1, Synced)
	r.shipped()
	path := filepath.Join(t.TempDir(), "copy.db")
	if err := r.copyOf(path).Close(); err != nil {
		t.Fatal(err)
	}
	if s, err := Open(path, Options{}); !errors.Is(err, ErrCopy) {
		t.Errorf("Open: want an ErrCopy, got %v, %v", s, err)
	}
	if _, err := Compact(path); !errors.Is(err, ErrCopy) {
		t.Errorf("Compact: want an ErrCopy, got %v", err)
	}
}

func TestOpenFollower_SaysWhatDoesNotFit(t *testing.T) {
	r, other := newFollowedRig(t, 1, Synced), newFollowedRig(t, 2, Synced)
	r.shipped()
	other.shipped()
	path, own := filepath.Join(t.TempDir(), "copy.db"), filepath.Join(t.TempDir(), "own.db")
	if err := r.copyOf(path).Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(own, Options{})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for what, test := range map[string]struct {
		folder Folder
		path   string
		says   string
	}{
		"a folder that is empty":        {new(shelf.Shelf), path + "2", "nothing was shipped to the folder yet"},
		"the folder of another store":   {other.shelf, path, "of another store"},
		"a store that is not a copy":    {r.shelf, own, "a store of its own, not a copy"},
		"a directory that is not there": {Dir(filepath.Join(t.TempDir(), "none")), path + "3", "nothing was shipped to the folder yet"},
	} {
		f, err := OpenFollower(t.Context(), test.folder, test.path)
		if err == nil {
			t.Errorf("%s: OpenFollower succeeded: %v", what, f.Close())
		} else if !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), test.path) {
			t.Errorf("%s: want an error that names the file and says %q, got %q", what, test.says, err)
		}
	}
}

func TestPromote_CopyGoesOnWhereTheStoreEndedAndThatTakesNoWrites(t *testing.T) {
	r := newFollowedRig(t, 1, Synced)
	for range 50 {
		r.write()
	}
	r.shipped()
	path := filepath.Join(t.TempDir(), "copy.db")
	done, err := Promote(t.Context(), r.shelf, path)
	if err != nil {
		t.Fatal(err)
	}
	if done.Term != 2 {
		t.Errorf("want term 2, got %+v", done)
	}
	if err := <-r.ended; !errors.Is(err, ErrFenced) {
		t.Errorf("Follow: want an ErrFenced, got %v", err)
	}
	_, err = kv.One(t.Context(), r.store, kv.OpSet("late", nil))
	if !errors.Is(err, ErrFenced) || !errors.Is(err, kv.ErrUnavailable) || !strings.Contains(err.Error(), path) {
		t.Errorf("a write: want an ErrFenced that is an ErrUnavailable and names %s, got %v", path, err)
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	r.open() // It remembers.
	if _, err = kv.One(t.Context(), r.store, kv.OpSet("late", nil)); !errors.Is(err, ErrFenced) {
		t.Errorf("a write after it was opened again: want an ErrFenced, got %v", err)
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}

	next := *r
	next.rig = &rig{t: t, random: r.random, dir: filepath.Dir(path), commits: r.commits, history: r.history}
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	next.store = s
	next.follow()
	for range 20 {
		next.write()
	}
	next.shipped()
	for _, at := range []int{30, 50, 51, 60, next.commits} {
		if all, _ := next.restored(next.made[at]); !maps.Equal(all, next.history[at]) {
			t.Errorf("what was restored is not what there was after commit %d", at)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestPromote_ThatHasFailedAnywhereIsCalledAgain(t *testing.T) {
	r := newFollowedRig(t, 1, Synced)
	for range 30 {
		r.write()
	}
	r.shipped()
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	for calls := 1; ; calls++ {
		to := r.shelf.Clone()
		to.SetCalls(calls)
		path := filepath.Join(t.TempDir(), "copy.db")
		_, err := promote(t.Context(), to, path, 0)
		if failed := err != nil; failed {
			if !errors.Is(err, shelf.ErrAway) {
				t.Fatalf("after %d calls: %v", calls, err)
			}
			to.SetAway(false)
			if _, err := promote(t.Context(), to, path, 0); err != nil {
				t.Fatalf("again, after %d calls: %v", calls, err)
			}
		}
		to.SetAway(false)
		s, openErr := Open(path, Options{})
		if openErr != nil {
			t.Fatalf("after %d calls: %v", calls, openErr)
		}
		if all, _ := holds(t, s); !maps.Equal(all, r.history[r.commits]) {
			t.Errorf("after %d calls: the new store is not what there was", calls)
		}
		next := followedRig{rig: &rig{t: t, random: r.random, store: s, commits: r.commits, history: r.history}, shelf: to}
		next.follow()
		next.write()
		next.shipped()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err == nil {
			return
		}
	}
}

func TestFollower_SaysThatTheFolderIsOlder(t *testing.T) {
	r := newFollowedRig(t, 1, Synced)
	r.write()
	r.shipped()
	older := r.shelf.Clone()
	path := filepath.Join(t.TempDir(), "copy.db")
	for range 10 {
		r.write()
	}
	f := r.copyOf(path)
	r.showing(f)
	r.shelf.SetAway(true)
	r.shelf.Become(older)
	if err := errors.Join(f.Close(), r.store.Close()); err != nil {
		t.Fatal(err)
	}
	r.shelf.SetAway(false)
	if f, err := OpenFollower(t.Context(), r.shelf, path); !errors.Is(err, ErrFolder) || !strings.Contains(err.Error(), "older than the copy") {
		t.Errorf("want an ErrFolder that says so, got %v, %v", f, err)
	}
}
