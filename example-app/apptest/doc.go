// Package apptest tests the sample app from outside: as visitors with and without scripts, as
// members who try to reach the data of others, and as attackers. It has only tests.
//
// Some tests need no browser and send HTTP requests to the app's handler. The tests of the visible
// pages run in the installed Chromium.
package apptest
