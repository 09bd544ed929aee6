// Package conduit is the backend of a RealWorld "Conduit": a site of articles with tags,
// favorites, comments and feeds, whose API of 19 endpoints many have written, each on their own
// tools. Here it is on records.
//
// Begin with models.go: that is all the data there is. No code of the app keeps anything in step
// with anything else, such as a count, a list of tags or the comments of an article that was
// deleted. That is done by what the tags declare, also when a process dies in between.
//
//   - users.go, profiles.go, articles.go, feed.go, favorites.go and comments.go have a method of
//     [App] for each endpoint.
//   - views.go says what they return, and joins what records refer to in one trip.
//   - http.go and token.go serve them.
package conduit
