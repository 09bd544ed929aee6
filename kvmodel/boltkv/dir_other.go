//go:build !unix

package boltkv

import "io/fs"

// syncDir does nothing where directories cannot be synced.
func syncDir(string) error { return nil }

// keepOwner does nothing where a new file gets the directory's owner.
func keepOwner(string, fs.FileInfo) error { return nil }
