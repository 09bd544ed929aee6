// Package conduit is the backend of a RealWorld "Conduit": a site of articles with tags, favorites,
// comments and feeds, with an API of 19 endpoints.
//
// Begin with models.go: it defines all the data. No code of the app keeps data in sync, such as a
// count, a list of tags or the comments of a deleted article. The tags declare that, and it works
// even if a process dies in between.
//
//   - users.go, profiles.go, articles.go, feed.go, favorites.go and comments.go have a method of
//     [App] for each endpoint.
//   - views.go defines the results, and joins the records they refer to in one trip.
//   - http.go and token.go serve them.
package conduit
