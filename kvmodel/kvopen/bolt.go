package kvopen

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/storeurl"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func openBolt(ctx context.Context, path string, options url.Values) (kv.Store, error) {
	durabilities := []boltkv.Durability{boltkv.Synced, boltkv.Periodic, boltkv.Unsynced}
	var names []string
	for _, d := range durabilities {
		names = append(names, d.String())
	}
	given := storeurl.New(options)
	settings := boltkv.Options{Durability: durabilities[given.Choice("durability", names...)]}
	settings.Cache = given.Cache()
	ship, _ := given.Text("ship", "DIR")
	if err := given.Check(); err != nil {
		return nil, err
	}
	switch {
	case path == "":
		return nil, errors.New("the file's path is missing: bolt:PATH")
	case strings.HasPrefix(path, "//"):
		return nil, errors.New("a path does not begin with two slashes: write bolt:dir/file, or bolt:/dir/file from the root")
	}
	s, err := boltkv.Open(path, settings)
	if err != nil || ship == "" {
		return s, err
	}
	if err := startShipping(ctx, s, boltkv.Dir(ship)); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// shipWait is how long opening waits for the folder.
const shipWait = 2 * time.Second

func startShipping(ctx context.Context, s *boltkv.Store, to boltkv.Folder) error {
	ended := make(chan error, 1)
	go func() { ended <- s.Ship(context.WithoutCancel(ctx), to) }()
	for began := time.Now(); ; {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
		if known := s.Stats().Shipping.Known; !known && time.Since(began) < shipWait {
			continue
		}
		go func() {
			if err := <-ended; err != nil {
				slog.Error("ringtree: shipping of the store has stopped", "err", err)
			}
		}()
		return nil
	}
}

// VerifyBackup is [boltkv.VerifyBackup].
func VerifyBackup(ctx context.Context, r io.Reader) (boltkv.Snapshot, error) {
	return boltkv.VerifyBackup(ctx, r)
}

// RestoreBackup is [boltkv.RestoreBackup].
func RestoreBackup(ctx context.Context, r io.Reader, path string) (boltkv.Snapshot, error) {
	return boltkv.RestoreBackup(ctx, r, path)
}

// RestoreShipped is [boltkv.Restore] from a directory.
func RestoreShipped(ctx context.Context, dir string, until time.Time, path string) (boltkv.Restored, error) {
	return boltkv.Restore(ctx, boltkv.Dir(dir), until, path)
}

// Compact is [boltkv.Compact].
func Compact(path string) (boltkv.Compaction, error) { return boltkv.Compact(path) }
