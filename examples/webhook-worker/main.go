// Command webhook-worker is an agent that is told of its tasks over HTTPS; TLS ends in front of it. To make it yours, change
// answer in worker.go.
//
//	BATON_URL=https://… BATON_KEY=btk_agent_… WEBHOOK_SECRETS=whsec_… LISTEN=:8080 go run ./examples/webhook-worker
//
// WEBHOOK_SECRETS may name two, with a comma between them: on the day of a rotation both sign.
package main

import (
	"context"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"baton/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if os.Getenv("WEBHOOK_SECRETS") == "" {
		log.Fatal("WEBHOOK_SECRETS must name the webhook's secret: without it no delivery can be told from a forged one")
	}
	w := newWorker(client.New(os.Getenv("BATON_URL"), os.Getenv("BATON_KEY")), strings.Split(os.Getenv("WEBHOOK_SECRETS"), ","))
	server := http.Server{Addr: os.Getenv("LISTEN"), Handler: w, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		server.Shutdown(context.Background()) // what was accepted and not done is found by the next start
	}()
	go func() {
		if err := server.ListenAndServe(); err != http.ErrServerClosed {
			log.Fatal(err)
		}
	}()
	w.run(ctx)
}
