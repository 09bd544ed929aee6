// Package oldforms has lists, counts and rows of keys in the plain forms that packages
// index and timeline come from, to learn from and not to use. Each stands on the
// operations of package kv alone, and its comment says what its form cannot do and
// which index can. docs/origins.md tells where the ideas come from.
package oldforms
