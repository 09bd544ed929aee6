// Package ahead lets a read of a listing fetch its records in the first trip, based on the records
// that the last read led to.
package ahead
