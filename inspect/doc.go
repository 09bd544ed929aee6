// Package inspect sees, checks, mends, moves and erases what a database holds, whatever its
// models are. It works on what their data classes say of themselves, so it needs no code of
// the app's.
//
//	in := inspect.New(db)
//	report, err := in.Check(ctx, inspect.CheckOptions{})
//
// [Main] is the same as a command, and [Handler] as pages that only read. An app that calls
// [Serve] carries out what the command is told while it has the file of an embedded store
// open, and one that calls [Recover] comes back by itself after a loss. docs/operations.md says
// when to use what.
//
// What only reads writes nothing to the store, not even the upkeep that a page of the app
// does on its way.
package inspect
