// Package whole holds models that use every index class at once, and an oracle that
// says what their indexes should show.
//
// Stores are kept in testdata as they are to be read for good; the tests open
// them with the code as it is now. Package before has the models as an earlier
// release of an app had them.
package whole
