// Package face contains the parts of the pages on which inspect shows a database, as templ
// components that take plain values. They write no style attribute and no script, and request only
// the stylesheet. All text from the database is in bdi or code elements, so that it cannot change
// the direction of the words around it.
package face

//go:generate go tool templ generate -include-version=false -log-level=error
