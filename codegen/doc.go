// Package codegen writes the data classes of tagged structs; the command kvgen
// runs it and its manual says what users need to know.
//
// A run goes through three steps:
//
//   - load finds the packages, reads them without kvgen's own output, parses the
//     tags and type-checks what a model can depend on;
//   - build makes models of tagged structs: their ids, indexes and names, all
//     decided and checked here;
//   - emit prints the models and decides nothing.
//
// The grammar of tags is one table, words: an entry says where a word may stand,
// which options it has, which types it fits and how it is written. A new kind
// of index is a new entry there.
package codegen
