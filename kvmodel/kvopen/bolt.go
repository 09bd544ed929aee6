package kvopen

import (
	"context"
	"errors"
	"strings"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func openBolt(_ context.Context, path string, opts *options) (kv.Store, error) {
	durabilities := []boltkv.Durability{boltkv.Synced, boltkv.Periodic, boltkv.Unsynced}
	var names []string
	for _, d := range durabilities {
		names = append(names, d.String())
	}
	settings := boltkv.Options{Durability: durabilities[opts.choice("durability", names...)]}
	if err := opts.check(); err != nil {
		return nil, err
	}
	if path == "" {
		return nil, errors.New("the file's path is missing: bolt:PATH")
	}
	if strings.HasPrefix(path, "//") {
		return nil, errors.New("two slashes must not follow the colon: write bolt:dir/file, or bolt:/dir/file from the root")
	}
	return boltkv.Open(path, settings)
}
