// Package forum is a small link site: stories with tags, comments on comments, votes for and
// against both, the karma of their authors, a front page on which stories age, unread replies,
// saved and hidden stories, muted tags, and a search.
//
// Begin with models.go: it defines all the data. No code of the site keeps a score, the karma of a
// user, a number of comments or an order right. The tags declare that, and it works even if a
// process dies in between. When a story or a user is deleted, its votes go, with their part of
// every score and karma.
//
//   - forum.go has the pages, with the reader's votes and saves on them, and the members.
//   - stories.go has the lists of stories, submissions and the search.
//   - comments.go has the page of a story, the newest comments and the replies to a reader.
//   - votes.go has votes, and the stories that a reader saves or hides.
//
// Passwords and sessions are the task of packages guard and kvsession.
package forum
