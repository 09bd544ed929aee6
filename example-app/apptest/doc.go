// Package apptest tests the sample app from outside: as visitors with and
// without scripts, as members who try what is not theirs, and as those who wish
// it ill. It has tests only.
//
// What runs without a browser speaks HTTP to the app's handler; what a visitor
// sees is tested in the installed Chromium.
package apptest
