// Package codegen writes the data classes of tagged structs; the command kvgen
// runs it, and its manual says what users need to know.
//
// A run goes through four steps, each a package that knows only those before it:
//
//   - load finds the packages, reads them without what kvgen wrote, parses the
//     tags and type-checks what a model can depend on;
//   - resolve makes models of tagged structs: their ids, indexes and names;
//   - check refuses models that contradict themselves, and changes that would
//     leave stored data behind;
//   - emit prints the models and decides nothing.
//
// Each step has one entry for a word. In package tag it is how the word is
// written, where it may stand and which types it fits; in resolve, what it makes
// of a model; in emit, how an index is printed.
//
// The other packages serve the steps: model is what resolve hands on, stored knows
// how Go types are stored, output knows the files that kvgen writes.
package codegen
