//go:build !race

package kv

import "iter"

func pull(seq iter.Seq[struct{}]) (next func() (struct{}, bool), stop func()) { return iter.Pull(seq) }
