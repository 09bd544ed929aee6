// Package inspect reads, checks, repairs, moves and erases the content of a database, with any
// models. It uses the descriptions in their data classes, so it needs no code of the app.
//
//	in := inspect.New(db)
//	report, err := in.Check(ctx, inspect.CheckOptions{})
//
// [Main] offers the same as a command, and [Handler] as read-only pages. An app that calls [Serve]
// runs the command's verbs while it has the file of an embedded store open, and one that calls
// [Recover] recovers from a loss by itself. docs/operations.md explains when to use each.
//
// Read-only calls write nothing to the store, not even the upkeep done by a page of the app.
package inspect
