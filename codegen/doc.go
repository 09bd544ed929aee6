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
// Each step has one entry for each word of the tags. In package tag it is the word's syntax, its
// places and its types; in resolve, its effect on a model; in emit, the printed form of an index.
//
// The other packages serve the steps: model is the output of resolve, stored knows the stored forms
// of Go types, output knows the files that kvgen writes.
package codegen
