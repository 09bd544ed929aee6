package ashiato

import "context"

// Like adds the member's like to a page, once. It returns ErrNotFound or ErrYourself.
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

// Unlike removes the member's like, if any. It returns ErrNotFound.
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
