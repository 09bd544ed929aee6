// Package oldforms has lists, counts and rows of keys in the plain forms that packages index and
// timeline come from, to learn from and not to use. Each uses only the operations of package kv,
// and its comment names the limits of the form and the index to use instead. docs/origins.md
// explains the origin of the ideas.
package oldforms
