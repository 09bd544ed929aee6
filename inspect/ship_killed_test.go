package inspect_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
)

// acknowledged is a write that was answered.
type acknowledged struct {
	N  int // of the note
	At time.Time
}

// beginShipping is an app that ships its file and puts notes one after another, from a number
// on, until it is killed. It says each when that is done.
func beginShipping(ctx context.Context, what string, say *json.Encoder) int {
	first, path, _ := strings.Cut(what, " ")
	s := must1(kvopen.Store(ctx, "bolt:"+path+"?ship="+shippedTo(path)))
	for s.(*boltkv.Store).Stats().Shipping.Snapshot.IsZero() {
		time.Sleep(time.Millisecond)
	}
	v := newNotes(must1(kvmodel.Open(s)))
	for n := must1(strconv.Atoi(first)); ; n++ {
		if err := v.Put(ctx, &note{ID: noteID(n), Title: noteID(n)}); err != nil {
			panic(err)
		}
		if err := say.Encode(acknowledged{n, time.Now()}); err != nil {
			return 1
		}
	}
}

func noteID(n int) string { return fmt.Sprint("note-", n) }

func shippedTo(path string) string { return path + ".shipped" }

// asOf finds in what restore says up to when all is there.
var asOf = regexp.MustCompile(`is the store as it was at (\S+): the snapshot`)

func TestMatrix_OfKilledShipping_WhatIsRestoredIsASecondBehindAndSaysSo(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "app.db")
	var most, sum time.Duration
	var kills, lost, next int
	for i := range proof.Part(t, numbers(1), numbers(50)) {
		acked, slowest := shipUntilKilled(t, path, next, time.Duration(200+rand.IntN(1500))*time.Millisecond)
		copied := filepath.Join(dir, fmt.Sprint("copy-", i, ".db"))
		gone, behind := missingAfter(t, path, copied, acked)
		next = acked[len(acked)-1].N + 1
		kills, lost, sum, most = kills+1, lost+gone, sum+behind, max(most, behind)
		// While the process stood still, as on a busy machine, it could not ship either.
		if behind > time.Second+slowest {
			t.Errorf("the oldest write that is lost was acknowledged %v before the kill; the process stood still for %v", behind, slowest)
		}
	}
	t.Logf("%d kills: %d writes were lost that were acknowledged, %v before the kill at most, %v in the mean", kills, lost, most, sum/time.Duration(max(1, kills)))
}

func numbers(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// shipUntilKilled returns what was acknowledged in a life of an app, and the longest time between
// two writes of these.
func shipUntilKilled(t *testing.T, path string, first int, life time.Duration) (acked []acknowledged, slowest time.Duration) {
	t.Helper()
	p := begin(t, fmt.Sprint(first, " ", path))
	var a acknowledged
	for p.says.Decode(&a) == nil {
		if len(acked) == 0 {
			time.AfterFunc(life, func() { _ = p.cmd.Process.Kill() })
		} else {
			slowest = max(slowest, a.At.Sub(acked[len(acked)-1].At))
		}
		acked = append(acked, a)
	}
	p.kill(t)
	if len(acked) == 0 {
		t.Fatal("nothing was written")
	}
	return acked, slowest
}

// missingAfter restores what was shipped, and returns how many of acked are not there, and how
// long before the last of these the first was acknowledged. All before the time that restore
// names have to be there.
func missingAfter(t *testing.T, path, copied string, acked []acknowledged) (gone int, behind time.Duration) {
	t.Helper()
	restored := file(t, "", "restore", shippedTo(path), copied)
	restored.want(t, 0, "is the store as it was at ")
	said := asOf.FindStringSubmatch(restored.out)
	if said == nil {
		t.Fatal(restored.out)
	}
	known, err := time.Parse(time.RFC3339, said[1])
	must(t, err)
	file(t, copied, "check").want(t, 0, "all is well")
	db := open(t, boltStore(t, "bolt:"+copied))
	all := newNotes(db)
	defer func() { must(t, db.Close(t.Context())) }()
	last := acked[len(acked)-1]
	for _, a := range acked {
		_, err := all.Get(t.Context(), noteID(a.N))
		switch {
		case err == nil && gone > 0:
			t.Errorf("note %d is there, and an earlier one is not", a.N)
		case err == nil:
		case kv.Failed(err) || a.At.Before(known):
			t.Errorf("note %d: %v; it was acknowledged at %v, and restore says %v", a.N, err, a.At, known)
		default:
			if gone++; gone == 1 {
				behind = last.At.Sub(a.At)
			}
		}
	}
	return gone, behind
}
