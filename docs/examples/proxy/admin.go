package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/weir-go/weir/contrib/metrics/prom"
	"github.com/weir-go/weir/gcra"
)

// maxText is more than any limit has.
const maxText = 200

var errUnknown = errors.New("there are the limits client and global")

// administration serves, to whoever reaches it:
//
//	GET  /metrics        for Prometheus
//	GET  /limits         the limits in force, as the file of -limits has them
//	PUT  /limits/NAME    set one of them: curl -X PUT -d "50/s burst 100" ADDR/limits/client
func administration(g *gate, log *slog.Logger) http.Handler {
	watched := prometheus.NewRegistry()
	watched.MustRegister(prom.NewCollector(g.policies()), collectors.NewGoCollector())

	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(watched, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /limits", func(w http.ResponseWriter, r *http.Request) {
		l := g.limits()
		fmt.Fprintf(w, "client %v\nglobal %v\n", l.client, l.global)
	})
	mux.HandleFunc("PUT /limits/{name}", func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxText))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		name := r.PathValue("name")
		var was, is gcra.Limit
		err = g.change(func(l limits) (limits, error) {
			to := l.named(name)
			if to == nil {
				return l, errUnknown
			}
			was = *to
			is, err = gcra.Parse(string(text))
			*to = is
			return l, err
		})
		switch {
		case err == errUnknown:
			http.Error(w, err.Error(), http.StatusNotFound)
		case err != nil:
			http.Error(w, fmt.Sprintf("%v; the limit stays %v", err, was), http.StatusBadRequest)
		default:
			log.Info("limits", "limits", g.limits())
			fmt.Fprintf(w, "%s %v, was %v\n", name, is, was)
		}
	})
	// A page in a browser on this machine changes nothing: neither from another
	// origin, nor by a name of its own that it lets mean this machine.
	return hereOnly(http.NewCrossOriginProtection().Handler(mux))
}

// hereOnly serves those who ask for this machine by an address of the loopback
// interface or as localhost.
func hereOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := (&url.URL{Host: r.Host}).Hostname()
		if addr, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !addr.Unmap().IsLoopback()) {
			http.Error(w, "not under this name", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
