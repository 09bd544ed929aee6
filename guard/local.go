package guard

import (
	"net/url"
	"strings"
)

// Local returns path if it leads to the site itself, and "/" otherwise. A form may name it as the
// page to go on to: no browser takes it for an address of another site.
func Local(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(path, "/") ||
		strings.HasPrefix(path, "//") || strings.Contains(path, `\`) {
		return "/"
	}
	return path
}
