// Prints every launch as it happens, with its price. In this folder: go run . ../../proto
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/bufbuild/protocompile"
	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/dynamicpb"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: os.Args[1:2]}),
	}
	files, err := compiler.Compile(ctx, "dovetail/v1/decision.proto")
	must(err)
	decision := files[0].Messages().ByName("Decision")
	summary, price := decision.Fields().ByName("summary"), decision.Fields().ByName("price_micros_per_hour")

	connection, err := nats.Connect(or("NATS_URL", nats.DefaultURL), options()...)
	must(err)
	defer connection.Close()
	_, err = connection.Subscribe("dovetail."+or("CLUSTER_NAME", "lab")+".decision.v1.launch.>", func(m *nats.Msg) {
		read := dynamicpb.NewMessage(decision)
		must(proto.Unmarshal(m.Data, read))
		fmt.Println(read.Get(summary), float64(read.Get(price).Int())/1e6)
	})
	must(err)
	<-ctx.Done()
}

// The reader's seed, if NATS asks for users, and the authority of its certificate, if that is not one of the system's.
func options() (given []nats.Option) {
	if file := os.Getenv("NATS_CREDENTIALS"); file != "" {
		option, err := nats.NkeyOptionFromSeed(file)
		must(err)
		given = append(given, option)
	}
	if file := os.Getenv("NATS_CA"); file != "" {
		given = append(given, nats.RootCAs(file))
	}
	return given
}

func or(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
