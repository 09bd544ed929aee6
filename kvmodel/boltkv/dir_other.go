//go:build !unix

package boltkv

import "io/fs"

// syncDir does nothing where directories cannot be synced.
func syncDir(string) error { return nil }

// keepOwner does nothing where files have no Unix owner.
func keepOwner(string, fs.FileInfo) error { return nil }
