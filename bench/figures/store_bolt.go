package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/internal/proof/crash"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var bucket = []byte("items")

// boltPair opens the embedded store and bbolt itself, each with a file of its
// own in a new folder.
func (b *bench) boltPair(name string, d boltkv.Durability) (store *boltkv.Store, raw *bbolt.DB, done func(), err error) {
	dir := filepath.Join(b.dir, name)
	store, err = boltkv.Open(filepath.Join(dir, "store.db"), boltkv.Options{Durability: d})
	if err != nil {
		return nil, nil, nil, err
	}
	raw, err = bbolt.Open(filepath.Join(dir, "raw.db"), 0o600, nil)
	if err == nil {
		err = raw.Update(func(tx *bbolt.Tx) error {
			_, err := tx.CreateBucket(bucket)
			return err
		})
	}
	if err != nil {
		store.Close()
		return nil, nil, nil, err
	}
	return store, raw, func() { store.Close(); raw.Close() }, nil
}

func boltGets(b *bench) error {
	store, raw, done, err := b.boltPair("gets", boltkv.Synced)
	if err != nil {
		return err
	}
	defer done()
	keys, err := fill(b.ctx, store, 10_000)
	if err != nil {
		return err
	}
	err = raw.Update(func(tx *bbolt.Tx) error {
		for _, key := range keys {
			if err := tx.Bucket(bucket).Put([]byte(key), make([]byte, 1024)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for store.Stats().Unmoved > 0 { // What is in memory would be read from there.
		time.Sleep(100 * time.Millisecond)
	}
	nth := func(call int) string { return keys[call*7%len(keys)] }
	speed, err := compare(
		byClients(1, 10_000, func(_, call int) error { _, err := kv.One(b.ctx, store, kv.OpGet(nth(call))); return err }),
		byClients(1, 10_000, func(_, call int) error { return rawGet(raw, nth(call)) }))
	b.report("boltkv: get, time to raw bbolt's", 1/speed, atMost(1.5).ratio())
	return err
}

// rawGet reads key as a program on bbolt would: the value must be copied to be
// used after the transaction.
func rawGet(db *bbolt.DB, key string) error {
	return db.View(func(tx *bbolt.Tx) error {
		if bytes.Clone(tx.Bucket(bucket).Get([]byte(key))) == nil {
			return fmt.Errorf("%s is absent", key)
		}
		return nil
	})
}

func boltWriters(b *bench) error {
	store, raw, done, err := b.boltPair("writers", boltkv.Synced)
	if err != nil {
		return err
	}
	defer done()
	raw.MaxBatchDelay = time.Millisecond
	value := make([]byte, 100)
	set := func(client, call int) error {
		_, err := kv.One(b.ctx, store, kv.OpSet(writerKey(client, call), value))
		return err
	}
	batch := func(client, call int) error {
		return raw.Batch(func(tx *bbolt.Tx) error {
			return tx.Bucket(bucket).Put([]byte(writerKey(client, call)), value)
		})
	}
	return errors.Join(
		b.faster("boltkv: synced writes of 32, speed to those of one", atLeast(8), byClients(32, 320, set), byClients(1, 320, set)),
		b.faster("boltkv: synced writes of 64, speed to bbolt's Batch", atLeast(1), byClients(64, 1280, set), byClients(64, 1280, batch)))
}

func writerKey(client, call int) string { return fmt.Sprintf("w:%d:%d", client, call%1000) }

// childVariable names the file that this program, started again as a child,
// writes to until it is killed.
const childVariable = "RINGTREE_FIGURES_CHILD"

func writeUntilKilled(file string) {
	store, err := boltkv.Open(file, boltkv.Options{})
	if err == nil {
		err = crash.Write(store, os.Stdout)
	}
	fmt.Fprintln(os.Stderr, "figures: child:", err)
	os.Exit(1)
}

// boltKills kills writers and looks for the writes that were acknowledged.
func boltKills(b *bench) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	file := filepath.Join(b.dir, "killed.db")
	kills := b.size(50)
	report, err := crash.Kill(kills, uint64(time.Now().UnixNano()),
		func() *exec.Cmd {
			child := exec.CommandContext(b.ctx, self)
			child.Env = append(os.Environ(), childVariable+"="+file)
			return child
		},
		func() (kvmodel.Store, error) { return boltkv.Open(file, boltkv.Options{}) })
	if err != nil {
		return err
	}
	b.report("boltkv: kills with kill -9 under load", float64(report.Kills), atLeast(float64(kills)))
	b.report("boltkv: writes acknowledged before them", float64(report.Acked), atLeast(1000).varying())
	b.report("boltkv: of these lost", float64(len(report.Lost)), exactly(0))
	b.report("boltkv: of these torn", float64(len(report.Torn)), exactly(0))
	return nil
}
