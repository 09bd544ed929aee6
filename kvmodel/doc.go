// Package kvmodel is the data class: records of a Go struct on a key-value
// store, with indexes that stay right through crashes.
//
// [Open] makes a [DB] of a store, and a data class that kvgen has written makes
// [Records] in it: Get, Create, Put, Update, Delete, each in a known number of
// trips to the store. The classes of packages index, timeline and ranking are
// kept in step by every write.
//
// Package kv defines what a store is and what its operations and errors mean. What
// an app needs of it every day is here under the same name.
//
// Caveats. There are no transactions over several records: a change is atomic
// for one record and its indexes. A write may end as [ErrUnclear], and then no one
// knows whether it was or will be carried out.
//
// To read the code, begin with db.go, records.go and schema.go. A change of a
// record runs through the files write_*.go, which write.go lists in order. The
// machinery that does not know the type of records is in the internal folder.
package kvmodel
