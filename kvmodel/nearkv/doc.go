// Package nearkv keeps what a process has read of a store, so that pages which are looked
// at all the time take no trip.
//
// It answers only gets that ask for it ([kv.Op].Near), as the reading methods of data
// classes and indexes do, and the first try of a change, which the store refuses if the record
// is no longer so. Such a get may show what was current a flight ago, never anything older than
// this process has already seen or written.
//
// Of a store that announces its keys it knows which are absent, for gets that allow that, too
// ([kv.Op].Sparse): what another process stored a flight ago may be missing there.
//
// On Redis the server tells what has changed. A store that does not is asked again when
// an answer is older than Options.Age, and until then may show what others have changed.
package nearkv
