package guard

import (
	"net/url"
	"strings"
)

// Local returns path if every browser takes it for a page of the site itself, and otherwise "/".
func Local(path string) string {
	u, err := url.Parse(path)
	if err != nil || u.Scheme != "" || u.Host != "" || !strings.HasPrefix(path, "/") ||
		strings.HasPrefix(path, "//") || strings.Contains(path, `\`) {
		return "/"
	}
	return path
}
