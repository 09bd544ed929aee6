// Package costs measures what each verb asks of a store, and writes docs/costs.md.
//
// A [section] is a table of the page: some rows that are measured one after another in a
// [world] of their own, once for each kind of store. To add a clause, add a model to
// models.go that has it, and rows to the section it belongs to.
package costs
