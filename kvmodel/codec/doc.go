// Package codec is what generated encoders and decoders call: msgpack without
// reflection, written by appending to a buffer and read straight from the
// stored bytes.
//
// A [Model] holds the functions kvgen wrote for one struct type and turns its
// values into bytes and back. A [Writer] and a [Reader] carry one such turn;
// the Write and Read functions of this package put single values, slices, maps
// and pointers through them.
//
// # Stored form
//
// A struct is a map by field name, zero values included, in the order of its
// fields. Integers take the shortest form, floats their own width, a string is
// str, []byte is bin, time.Time is the timestamp extension in UTC with
// nanoseconds, a map is sorted by its keys. A nil slice, map or pointer is nil,
// so nil and empty stay apart.
//
// # What a reader accepts
//
// A missing field stays as it is; nil is the zero value. An integer is read from
// any width that holds it, a float also from a float of the other width or an
// integer where nothing is lost. Any other kind, a number that does not fit, a
// count the remaining bytes cannot hold, nesting deeper than [MaxDepth], bytes
// after the value: each is an [*Error] that wraps [ErrCorrupt] and says which
// field, at which offset.
//
// # Memory
//
// Reading allocates at most 16 times the input: what holds text and bytes at
// most 3 times, slices, maps and pointers at most 13 times, with 64 KiB of these always
// allowed so that small records of large types can be read. A writer keeps the
// same account, so that what was written can be read back. Types that decode
// themselves keep their own account.
//
// Strings never share memory with the input. Short ones of one record may share
// memory with each other, so one that is kept for long holds on to up to 128
// bytes; strings.Clone lets go of them.
package codec
