// Package ahead lets a look at a listing ask for its records in the trip in which it asks
// where they are, by what the last look has led to.
package ahead
