// Package whole holds models that use every index class at once, and an oracle that
// says what their indexes should show.
//
// Stores that earlier releases have written are kept in testdata; the tests open
// them with the code as it is now. Package before has the models as an earlier
// release of an app had them.
package whole
