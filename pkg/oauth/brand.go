package oauth

import (
	"context"
	"fmt"

	"svc/pkg/oauth/page"
	"svc/pkg/table"
	"svc/pkg/tenant"
)

// brand reads how the tenant's pages look.
func (s *Server) brand(ctx context.Context, n tenant.Tenant) (page.Brand, error) {
	t := s.db.Tenant(n.ID)
	it, err := t.Get(ctx, t.Key("BRANDING", "BRANDING"))
	if err != nil {
		return page.Brand{}, fmt.Errorf("branding: %w", err)
	}
	return brandOf(it, n.Name)
}

// brandOf reads the branding of its item; a company without one has its name.
func brandOf(it table.Item, name string) (page.Brand, error) {
	if !it.Found() {
		return page.Brand{Name: name}, nil
	}
	var b struct {
		Name           string `json:"appName"`
		Primary        string `json:"primaryColor"`
		Secondary      string `json:"secondaryColor"`
		IconBackground string `json:"iconBackgroundColor"`
		Theme          string `json:"themeMode"`
		Logo           string `json:"logoUrl"`
		Favicon        string `json:"faviconUrl"`
		Support        string `json:"supportUrl"`
		Terms          string `json:"termsUrl"`
		Privacy        string `json:"privacyUrl"`
	}
	if err := it.Decode(&b); err != nil {
		return page.Brand{}, err
	}
	if b.Name == "" {
		b.Name = name
	}
	return page.Brand{Name: b.Name, Primary: b.Primary, Secondary: b.Secondary, IconBackground: b.IconBackground, Theme: b.Theme,
		LogoURL: b.Logo, FaviconURL: b.Favicon, SupportURL: b.Support, TermsURL: b.Terms, PrivacyURL: b.Privacy}, nil
}
