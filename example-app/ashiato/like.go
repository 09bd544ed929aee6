package ashiato

import "context"

// Like makes who like the page with that slug. If who likes it already, it changes nothing. It
// returns ErrNotFound or ErrYourself.
func (s *Site) Like(ctx context.Context, who, slug string) error {
	p, err := s.Models.Pages.BySlug.Find(ctx, normal(slug))
	if err != nil {
		return err
	}
	if p.Author == who {
		return ErrYourself
	}
	return unlessThere(s.Models.Likes.Create(ctx, &Like{Member: who, Page: p.ID}))
}

// Unlike takes the like of who from the page with that slug. It changes nothing if there is none.
// It returns ErrNotFound.
func (s *Site) Unlike(ctx context.Context, who, slug string) error {
	p, err := s.Models.Pages.BySlug.Find(ctx, normal(slug))
	if err != nil {
		return err
	}
	return unlessGone(s.Models.Likes.Delete(ctx, LikeID{Member: who, Page: p.ID}))
}

func (s *Site) likes(ctx context.Context, who, page string) (bool, error) {
	return exists(ctx, who, s.Models.Likes.Records, LikeID{Member: who, Page: page})
}
