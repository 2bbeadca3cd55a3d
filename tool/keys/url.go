package keys

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// URL returns the key of the resource at an absolute URL: "url", the scheme, the host, and the path, so that the tree
// at a host or at a directory of its paths is a tree of keys.
//
// Spellings that mean the same give the same key. Scheme and host are lower-cased, international host names put into
// their ASCII form and IP addresses into their shortest, a port that is the scheme's default is dropped, dot segments
// are resolved, empty segments dropped, and percent-encoding is used exactly where it must be. The path keeps its case.
//
// The user, the fragment and the query are dropped. Which parameters tell resources apart, and in which order, only
// the server knows; without them two calls may wait for each other needlessly, with them two calls could miss that they
// write one thing. A tool that knows better has [Name].
//
// Relative URLs, those without a host such as mailto:, and file URLs, which are for a [Root], are refused; the error
// wraps [ErrInvalid].
func URL(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		// The error of net/url repeats the URL, and so the password in it.
		return "", fmt.Errorf("URL cannot be parsed: %w", ErrInvalid)
	}
	scheme := strings.ToLower(u.Scheme)
	switch {
	case scheme == "":
		return "", fmt.Errorf("URL %q has no scheme: %w", u.Redacted(), ErrInvalid)
	case scheme == "file":
		return "", fmt.Errorf("URL %q names a file: %w: open a root and give it the path", u.Redacted(), ErrInvalid)
	}
	host, err := hostKey(scheme, u)
	if err != nil {
		return "", fmt.Errorf("URL %q: %w", u.Redacted(), err)
	}
	// One order of doing things: an encoded dot is a dot, also in a dot segment, an encoded slash never a separator.
	key := urlKind + "/" + scheme + "/" + host
	if p := path.Clean("/" + escapePath(u.EscapedPath())); p != "/" {
		key += p
	}
	return key, nil
}

// defaultPorts are those of the schemes that name the same thing with and without.
var defaultPorts = map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443", "ftp": "21", "ssh": "22"}

func hostKey(scheme string, u *url.URL) (string, error) {
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		host = ip.String()
		if ip.Is6() {
			host = "[" + host + "]"
		}
	} else {
		host, err = idna.Lookup.ToASCII(strings.TrimRight(host, "."))
		if err != nil { // not a name of the DNS; an underscore, say
			host = strings.ToLower(strings.TrimRight(u.Hostname(), "."))
		}
	}
	switch {
	case host == "":
		return "", fmt.Errorf("it has no host: %w", ErrInvalid)
	case host[0] != '[' && strings.ContainsAny(host, ":[]"):
		return "", fmt.Errorf("its host is no address: %w", ErrInvalid)
	}
	host = escapeHost(host)
	if port := strings.TrimLeft(u.Port(), "0"); port != "" && port != defaultPorts[scheme] {
		host += ":" + port
	}
	return host, nil
}

// escapeHost encodes what a host may hold only when encoded: the % before the zone of an IPv6 address, and what is not
// ASCII.
func escapeHost(host string) string {
	var b strings.Builder
	for i := range len(host) {
		if c := host[i]; c == '%' || c >= utf8.RuneSelf {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// escapePath writes every byte in its one canonical form: what may stand in a path without percent-encoding stands as
// it is, everything else is encoded with capital digits.
func escapePath(p string) string {
	var b strings.Builder
	for i := 0; i < len(p); i++ {
		c, encoded := p[i], false
		if c == '%' && i+2 < len(p) {
			if hi, lo := unhex(p[i+1]), unhex(p[i+2]); hi >= 0 && lo >= 0 {
				c, encoded = byte(hi<<4|lo), true
				i += 2
			}
		}
		if unreserved(c) || !encoded && strings.IndexByte("/!$&'()*+,;=:@[]", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
