// Package browser drives the installed Chromium, without a window, for tests of
// pages as a visitor sees them.
//
// A [Browser] is the program, a [Profile] one visitor with cookies of its own,
// a [Page] one of the tabs. What a page does is said in the visitor's words:
// links, buttons and fields go by the names that are read out for them, so a
// test that passes has also shown that these names are there.
//
// Every step ends: after [Patience] the test fails and says what was waited
// for. At the end of a test each of its pages reports, as an error, whatever it
// wrote to the console as one, every script that failed, every dialog, every
// file that was refused, and every request to another host than the site's;
// such a request does not leave the machine.
//
// Chromium is spoken to through a pair of pipes, so it listens on no port, and
// it ends with the program that started it.
package browser
