//go:build !unix

package boltkv

import "io/fs"

// keepOwner does nothing on systems without Unix owners.
func keepOwner(string, fs.FileInfo) error { return nil }
