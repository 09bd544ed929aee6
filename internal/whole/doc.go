// Package whole has models that use every index class at once, and an oracle for their answers.
//
// The stores in testdata must be readable forever; the tests open them with the current code.
// Package before has the models of an earlier release of an app.
package whole
