//go:build !unix

package durable

// SyncDir does nothing where directories cannot be synced.
func SyncDir(string) error { return nil }
