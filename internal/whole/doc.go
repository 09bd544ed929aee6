// Package whole holds models that use every index class at once, and an oracle for the answers of
// their indexes.
//
// Stores are kept in testdata as they must be readable forever; the tests open them with the
// current code. Package before has the models of an earlier release of an app.
package whole
