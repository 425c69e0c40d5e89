// Prints the subject of each kept decision: with a consumer that pulls, and with one in order.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	seed, err := nats.NkeyOptionFromSeed(os.Getenv("NATS_CREDENTIALS"))
	must(err)
	failed := nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { log.Fatal(err) })
	connection, err := nats.Connect(os.Getenv("NATS_URL"), seed, nats.CustomInboxPrefix(os.Getenv("INBOX")), failed)
	must(err)
	defer connection.Close()
	js, err := jetstream.New(connection)
	must(err)
	stream, count := os.Getenv("STREAM"), os.Getenv("COUNT")
	wanted, err := strconv.Atoi(count)
	must(err)
	for _, filter := range []string{"", os.Getenv("FILTER")} {
		pulled, err := js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{FilterSubject: filter})
		must(err)
		read("pull", pulled, wanted, func(message jetstream.Msg) { must(message.Ack()) })
		must(js.DeleteConsumer(ctx, stream, pulled.CachedInfo().Name))
	}
	ordered, err := js.OrderedConsumer(ctx, stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{os.Getenv("FILTER")}})
	must(err)
	read("push", ordered, wanted, func(jetstream.Msg) {})
	must(connection.Flush())
}

func read(how string, consumer jetstream.Consumer, count int, took func(jetstream.Msg)) {
	batch, err := consumer.Fetch(count, jetstream.FetchMaxWait(5*time.Second))
	must(err)
	for message := range batch.Messages() {
		took(message)
		fmt.Println(how, message.Subject())
	}
	must(batch.Error())
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
