package wire

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// ParseBase parses the base URL of a provider's service; an empty one means the fallback. It
// strips the surplus path parts that people copy along. Its errors do not quote the URL, because
// it may hold a password.
func ParseBase(provider, address, fallback string, surplus ...string) (*url.URL, error) {
	fault := func(format string, args ...any) error {
		return fmt.Errorf(provider+" base URL: "+format, args...)
	}
	if address = strings.TrimSpace(address); address == "" {
		address = fallback
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return nil, fault("not an address; write it like %s", fallback)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fault("must start with http:// or https://, like %s", fallback)
	case u.Hostname() == "":
		return nil, fault("names no host; write it like %s", fallback)
	case u.Fragment != "":
		return nil, fault("must have no fragment")
	}
	u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), ""
	for _, s := range surplus {
		u.Path = strings.TrimRight(strings.TrimSuffix(u.Path, s), "/")
	}
	return u, nil
}

// CheckKey rejects what cannot be a key, most often one that was copied badly.
func CheckKey(key string) error {
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return errors.New("holds blanks or characters that no key has; copy it again")
	}
	return nil
}
