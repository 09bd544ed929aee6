// Package codec is the runtime of generated encoders and decoders: msgpack without reflection. A
// [Model] holds the functions that kvgen wrote for a struct type. The Write and Read functions
// write and read single values, slices, maps and pointers.
//
// # Stored form
//
// A struct is a map by field name, in field order, including zero values. Integers take the
// shortest form and floats their own width. A string is str, []byte is bin, and time.Time is the
// timestamp extension in UTC. A map is sorted by key. A nil slice, map or pointer is nil, distinct
// from empty.
//
// # Accepted input
//
// A missing field is left unchanged; nil is the zero value. A number is read from any form that
// loses nothing. Everything else is an [*Error] that wraps [ErrCorrupt] and names the field and the
// offset: another kind, a count that the remaining bytes cannot hold, nesting deeper than
// [MaxDepth], bytes after the value.
//
// # Memory
//
// Reading allocates at most 16 times the size of the input, of which 13 for slices, maps and
// pointers, plus 64 KiB. A writer applies the same limits, so everything it writes can be read
// back. Types that decode themselves are responsible for their own memory.
//
// Strings never share memory with the input. Short strings of one record may share memory with each
// other: one keeps up to 128 bytes alive.
package codec
