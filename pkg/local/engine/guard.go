package engine

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
)

// Guard forwards requests to the engine at the URL, but rejects requests of web
// pages. An engine checks no credentials, and every origin may read its
// responses. A browser sends the page's origin with such a request. A page
// whose own domain points at this machine sends that domain as the host.
func Guard(engine string) (http.Handler, error) {
	to, err := url.Parse(engine)
	if err != nil {
		return nil, err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(res *http.Response) error {
			for name := range res.Header {
				if strings.HasPrefix(name, "Access-Control-") {
					res.Header.Del(name)
				}
			}
			return nil
		},
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header["Origin"] != nil || r.Header["Sec-Fetch-Site"] != nil || !localHost(r.Host) {
			http.Error(w, "The database of svc dev does not answer web pages.", http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, r)
	}), nil
}

// localHost reports whether a Host header is safe: an IP address, localhost, or
// Docker's name for this machine. No foreign domain can have these names.
func localHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return net.ParseIP(strings.Trim(host, "[]")) != nil || host == "localhost" || host == "host.docker.internal"
}
