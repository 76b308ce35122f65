// Command routers puts one limit in front of the same handler under four
// routers: net/http's own, chi, echo and gin.
//
// Each serves on the loopback interface, answers three requests of a client whose
// limit is two, and one more after the client has waited as long as it was told.
package main

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"

	"github.com/weir-go/weir/clock"
	"github.com/weir-go/weir/gcra"
	"github.com/weir-go/weir/httplimit"
	"github.com/weir-go/weir/shard"
)

// A middleware is what httplimit.New returns.
type middleware = func(http.Handler) http.Handler

// A router is built with the middleware, and greets whoever asks for /hello/NAME.
type router struct {
	name  string
	build func(limited middleware) http.Handler
}

var routers = []router{
	{"net/http", withServeMux},
	{"chi", withChi},
	{"echo", withEcho},
	{"gin", withGin},
}

func withServeMux(limited middleware) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello/{name}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s", r.PathValue("name"))
	})
	return limited(mux)
}

func withChi(limited middleware) http.Handler {
	r := chi.NewRouter()
	r.Use(limited) // not behind middleware.RealIP, which believes the client
	r.Get("/hello/{name}", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello %s", chi.URLParam(r, "name"))
	})
	return r
}

func withEcho(limited middleware) http.Handler {
	e := echo.New()
	e.Use(echo.WrapMiddleware(limited))
	e.GET("/hello/:name", func(c echo.Context) error {
		return c.String(http.StatusOK, "hello "+c.Param("name"))
	})
	return e
}

func withGin(limited middleware) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	e := gin.New()
	e.Use(ginMiddleware(limited))
	e.GET("/hello/:name", func(c *gin.Context) {
		c.String(http.StatusOK, "hello %s", c.Param("name"))
	})
	return e
}

// ginMiddleware is what gin does not have: it runs the rest of the chain as the
// handler that the middleware calls, or ends the chain if it does not call it.
func ginMiddleware(m middleware) gin.HandlerFunc {
	return func(c *gin.Context) {
		served := false
		m(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			served = true
			c.Request = r
			c.Next()
		})).ServeHTTP(c.Writer, c.Request)
		if !served {
			c.Abort()
		}
	}
}

func main() {
	for _, r := range routers {
		if err := demonstrate(os.Stdout, r); err != nil {
			log.Fatal(err)
		}
	}
}

// demonstrate serves and asks over a socket. The limiter's clock stands, so that
// the demonstration need not wait: it is moved by as much as a client waits.
func demonstrate(out io.Writer, r router) error {
	var clk clock.Manual
	clients := shard.New[netip.Prefix](gcra.PerMinute(6).Burst(2), shard.WithClock(&clk))
	srv := httptest.NewServer(r.build(httplimit.New(httplimit.Local(clients), httplimit.RemoteAddr)))
	defer srv.Close()
	for range 4 {
		res, err := srv.Client().Get(srv.URL + "/hello/gopher")
		if err != nil {
			return err
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-8s %d %-19q %s\n", r.name, res.StatusCode, bytes.TrimSpace(body), res.Header.Get("RateLimit"))
		if after, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
			clk.Advance(time.Duration(after) * time.Second)
		}
	}
	return nil
}
