package location

import (
	"errors"
	"net/url"
	"strings"
)

// IsZero says whether there is no place.
func (p Place) IsZero() bool { return p == Place{} }

// String is the place for people, without what says how it is reached.
func (p Place) String() string {
	if p.Kind == File {
		return "file://" + p.Folder
	}
	text := string(p.Kind) + "://"
	if p.Kind == Minio {
		_, host, _ := strings.Cut(p.Endpoint, "://")
		text += host + "/"
	}
	return strings.TrimSuffix(text+p.Bucket+"/"+p.Prefix, "/")
}

// Apart refuses two places that are one, or of which one lies within the other: a second copy that goes with the first is
// none. One bucket under two names cannot be seen from here.
func (p Place) Apart(other Place) error {
	a, b := p.identity()+"/", other.identity()+"/"
	switch {
	case a == b:
		return errors.New("is the same place")
	case strings.HasPrefix(a, b), strings.HasPrefix(b, a):
		return errors.New("lies within the other place, or the other way round")
	}
	return nil
}

// identity is what two ways to write one place have in common.
func (p Place) identity() string {
	if p.Kind == File {
		return "file:" + p.Folder
	}
	return "store:" + p.service() + "/" + strings.TrimSuffix(p.Bucket+"/"+p.Prefix, "/")
}

// service is the store's host and port. Buckets of AWS have one name in all regions.
func (p Place) service() string {
	const amazon = "amazonaws.com"
	address, err := url.Parse(p.Endpoint)
	if p.Endpoint == "" || err != nil {
		return amazon
	}
	host, port := strings.ToLower(address.Hostname()), address.Port()
	switch {
	case strings.HasSuffix(host, "."+amazon):
		return amazon
	case isLoopback(host):
		host = "localhost"
	}
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[address.Scheme]
	}
	return host + ":" + port
}
