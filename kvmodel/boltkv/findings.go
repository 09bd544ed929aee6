package boltkv

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type room struct {
	free uint64
	kind string
	why  string
}

const leastFree = 256 << 20

func (s *Store) findings(context.Context) (all []kv.Finding) {
	folder := filepath.Dir(s.path)
	r, err := roomIn(folder)
	info, failed := os.Stat(s.path)
	if err := cmp.Or(err, failed); err != nil {
		all = append(all, kv.Find(kv.Unknown, "the file system of %s could not be looked at: %v", folder, err))
	} else {
		all = append(all, r.judge(folder, uint64(info.Size()))...)
	}
	return append(all, s.opts.Durability.judge(), s.judgeShipping())
}

func (r room) judge(folder string, size uint64) (all []kv.Finding) {
	if r.kind != "" {
		all = append(all, kv.Find(kv.Hurts, "%s is on %s: %s; put the file on a local disk", folder, r.kind, r.why))
	}
	free := kv.Find(kv.Fine, "%s has %s free, and the file takes %s", folder, megabytes(r.free), megabytes(size))
	if r.free < size+leastFree {
		free.Is = kv.Hurts
		free.Text += ": a backup beside it would not fit, and soon no write; make room"
	}
	return append(all, free)
}

func megabytes(n uint64) string { return fmt.Sprint(n/1e6, " MB") }

func (d Durability) judge() kv.Finding {
	if d == Synced {
		return kv.Find(kv.Fine, "each write is on the disk before it is answered (durability=synced)")
	}
	return kv.Find(kv.Hurts, "a crash of the machine loses the last writes (durability=%s): remove that from the URL, unless it is intended", d)
}

func (s *Store) judgeShipping() kv.Finding {
	switch shipping := s.Stats().Shipping; {
	case len(s.shipping) == 0:
		return kv.Find(kv.Fine, "it is not shipped, so what came after the last backup is gone with the disk; ship=DIR in the URL keeps a folder a second behind")
	case shipping.Trouble != nil:
		return kv.Find(kv.Hurts, "it cannot be shipped to its folder: %v", shipping.Trouble)
	case shipping.Spoiled != nil:
		return kv.Find(kv.Hurts, "no snapshot of it could be taken: %v", shipping.Spoiled)
	case !shipping.Known:
		return kv.Find(kv.Unknown, "whether it can be shipped to its folder: that was not reached yet")
	}
	return kv.Find(kv.Fine, "it is shipped to a folder")
}
