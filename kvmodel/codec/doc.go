// Package codec is the runtime of generated encoders and decoders: msgpack without reflection,
// written by appending to a buffer and read straight from the stored bytes.
//
// A [Model] holds the functions that kvgen wrote for a struct type; it converts values of the type
// to bytes and back. A [Writer] or a [Reader] does the work for one value. The Write and Read
// functions of this package write and read single values, slices, maps and pointers.
//
// # Stored form
//
// A struct is a map by field name, in the order of its fields, including zero values. Integers take
// the shortest form and floats their own width. A string is str, []byte is bin, and time.Time is
// the timestamp extension in UTC with nanoseconds. A map is sorted by key. A nil slice, map or
// pointer is nil, so nil and empty stay distinct.
//
// # Accepted input
//
// A missing field is left unchanged; nil is the zero value. An integer is read from any width that
// holds it; a float also from a float of the other width or an integer, if nothing is lost. These
// are errors: any other kind, a number that does not fit, a count that the remaining bytes cannot
// hold, nesting deeper than [MaxDepth], bytes after the value. Each is an [*Error] that wraps
// [ErrCorrupt] and names the field and the offset.
//
// # Memory
//
// Reading allocates at most 16 times the size of the input: at most 3 times for text and bytes, and
// at most 13 times for slices, maps and pointers. For the latter 64 KiB are always allowed, so that
// small records of large types can be read. A writer applies the same limits, so everything it
// writes can be read back. Types that decode themselves are responsible for their own memory.
//
// Strings never share memory with the input. Short strings of one record may share memory with each
// other, so keeping one can keep up to 128 bytes alive; use strings.Clone to avoid that.
package codec
