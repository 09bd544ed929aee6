//go:build !unix

package boltkv

import "io/fs"

func keepOwner(string, fs.FileInfo) error { return nil }
