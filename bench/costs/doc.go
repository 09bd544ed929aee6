// Package costs measures the cost of each verb on a store, and writes docs/costs.md. To add a
// clause, add a model with it to models.go, and rows to its section.
package costs
