package keys_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keywave-go/keywave/tool/keys"
)

func TestURLSpellingsOfOneResource(t *testing.T) {
	for _, tt := range []struct {
		key  string
		urls []string
	}{
		{"url/https/example.com", []string{
			"https://example.com", "HTTPS://EXAMPLE.com/", "https://example.com:443", "https://example.com:0443/",
			"https://example.com./", "https://example.com:/",
			"https://user:secret@example.com", "https://example.com/?q=1", "https://example.com#top", "https://example.com/a/..", "https://example.com/%2e",
		}},
		{"url/https/example.com/a/B", []string{
			"https://example.com/a/B", "https://example.com/a/B/", "https://example.com//a//B",
			"https://example.com/x/../a/./B", "https://example.com/x/%2E%2e/a/B",
			"https://example.com/%61/%42", "https://example.com/a/B?x=1&y=2", "https://example.com/a/B?y=2&x=1",
		}},
		{"url/https/example.com/a%2Fb", []string{"https://example.com/a%2Fb", "https://example.com/a%2fb"}},
		{"url/https/example.com/caf%C3%A9", []string{"https://example.com/café", "https://example.com/caf%c3%a9"}},
		{"url/https/example.com/a%20b%7C", []string{"https://example.com/a b|", "https://example.com/a%20b%7c"}},
		{"url/https/example.com/~me", []string{"https://example.com/~me", "https://example.com/%7Eme"}},
		{"url/https/xn--bcher-kva.example", []string{"https://bücher.example", "https://BÜCHER.example",
			"https://bu\u0308cher.example", "https://xn--bcher-kva.example", "https://b%C3%BCcher.example"}},
		{"url/http/127.0.0.1:8080/x", []string{"http://127.0.0.1:8080/x"}},
		{"url/http/[::1]/x", []string{"http://[::1]/x", "http://[0:0:0:0:0:0:0:1]:80/x"}},
		{"url/http/1.2.3.4/x", []string{"http://1.2.3.4/x", "http://[::ffff:1.2.3.4]/x", "http://[::ffff:102:304]/x"}},
		{"url/http/my_host/x", []string{"http://my_host/x", "http://MY_HOST/x"}},
		{"url/postgres/db:5432/app", []string{"postgres://me@db:5432/app"}},
	} {
		for _, u := range tt.urls {
			got, err := keys.URL(u)
			require.NoError(t, err, u)
			assert.Equal(t, tt.key, got, u)
		}
	}
}

func TestURLsApart(t *testing.T) {
	seen := map[string]string{}
	for _, u := range []string{
		"https://example.com", "http://example.com", "https://example.com:8443", "https://www.example.com", "https://example.com/a", "https://example.com/A",
		"https://example.com/a/b", "https://example.com/a%2Fb", "https://example.com/a%252Fb", "https://example.com/a+b",
		"https://example.com/a%2Bb", "https://example.com/a%20b",
	} {
		got, err := keys.URL(u)
		require.NoError(t, err)
		require.Empty(t, seen[got], "%s and %s", u, seen[got])
		seen[got] = u
	}
}

func TestURLRefused(t *testing.T) {
	for _, u := range []string{"", "/a/b", "example.com/a", "//example.com/a", "mailto:me@example.com", "urn:isbn:1",
		"file:///etc/passwd", "https://", "https:///a", "http://[::1", "https://a b/", ":", "http://h:port/", "http://./", "http://../"} {
		got, err := keys.URL(u)
		require.ErrorIs(t, err, keys.ErrInvalid, u)
		assert.Empty(t, got)
	}
	for _, u := range []string{"https://me:secret@", "https://me:secret@h:port/", "https://me:secret@[::1/"} {
		_, err := keys.URL(u)
		require.ErrorIs(t, err, keys.ErrInvalid)
		assert.NotContains(t, err.Error(), "secret")
	}
}

// respell is a URL spelt from its key.
func respell(key string) string {
	parts := strings.SplitN(key, "/", 4)
	u := parts[1] + "://" + parts[2]
	if len(parts) == 4 {
		u += "/" + parts[3]
	}
	return u
}

// FuzzURL: a key is never empty, has no empty component, and is the key of the URL spelt from it; what is dropped and
// what is default makes no difference.
func FuzzURL(f *testing.F) {
	for _, s := range []string{"https://example.com/a/b?c#d", "http://[::1%25eth0]:80/%2e%2E/x",
		"HTTP://ü.example:0080//a/%zz", "x://%2F/a", "ws://h/%", "a://B%41/..%2f", `a://"`, "a://..", "a://[:]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		key, err := keys.URL(raw)
		if err != nil {
			require.ErrorIs(t, err, keys.ErrInvalid)
			require.Empty(t, key)
			return
		}
		parts := strings.Split(key, "/")
		require.GreaterOrEqual(t, len(parts), 3)
		require.Equal(t, "url", parts[0])
		for _, p := range parts {
			require.NotContains(t, []string{"", ".", ".."}, p, key)
		}
		again, err := keys.URL(respell(key))
		require.NoError(t, err, key)
		require.Equal(t, key, again)

		u, err := url.Parse(raw)
		require.NoError(t, err)
		u.Fragment, u.RawFragment, u.RawQuery, u.User = "f", "", "q=1", url.UserPassword("u", "p")
		again, err = keys.URL(u.String())
		require.NoError(t, err, u.String())
		require.Equal(t, key, again)
	})
}
