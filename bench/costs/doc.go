// Package costs measures the cost of each verb on a store, and writes docs/costs.md.
//
// A [section] is a table of the page: some rows that are measured one after another in a [world] of
// their own, once for each kind of store. To add a clause, add a model with it to models.go, and
// rows to its section.
package costs
