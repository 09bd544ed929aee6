// Package entmodel is the data of the comparison as a user of ent writes it: folder schema,
// and what ent makes of it.
package entmodel

//go:generate go tool ent generate --feature sql/upsert ./schema
