package ashiato

import "slices"

// page returns what d says as a page of author.
func (d Draft) page(author string) *Page {
	return &Page{ID: d.ID, Slug: d.Slug, Title: d.Title, Body: lines(d.Body), Topics: d.Topics, Author: author}
}

// says tells whether p says what q does.
func (p *Page) says(q *Page) bool {
	return p.Slug == q.Slug && p.Title == q.Title && p.Body == q.Body && slices.Equal(p.Topics, q.Topics)
}
