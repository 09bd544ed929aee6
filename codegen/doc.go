// Package codegen generates the data classes of tagged structs; the command kvgen runs it, and its
// manual is the user documentation.
//
// A run has four steps, each a package that knows only the earlier ones:
//
//   - load finds the packages, reads them without the output of kvgen, parses the tags and
//     type-checks everything a model can depend on;
//   - resolve builds models from tagged structs: their ids, indexes and names;
//   - check rejects contradictory models, and changes that would orphan stored data;
//   - emit prints the models and decides nothing.
//
// Each word of the tags has one entry in a table of each step: its syntax, places and types in
// package tag, its effect on a model in resolve, its printed index in emit.
//
// Package model is the output of resolve, and stored knows the stored forms of Go types.
package codegen
