// A client of rueidis under the runner: a command a line on stdin, an answer a line on stdout (tests/clients/README.md).
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
)

func pipeline(ctx context.Context, client rueidis.Client, count int, command, item string) (string, error) {
	var commands rueidis.Commands
	for user := range count {
		commands = append(commands, client.B().Arbitrary(command).Keys(item).Args(strconv.Itoa(user)).Build())
	}
	var text []string
	for _, result := range client.DoMulti(ctx, commands...) {
		reply, err := result.ToAny()
		if err != nil {
			return "", err
		}
		text = append(text, fmt.Sprint(reply))
	}
	return strings.Join(text, " "), nil
}

func answer(ctx context.Context, client rueidis.Client, name string, words []string) (any, error) {
	switch name {
	case "subscribe":
		// Receive returns only when it is cancelled or the client is closed; it subscribes again by itself.
		go client.Receive(ctx, client.B().Subscribe().Channel(words[0]).Build(), func(notice rueidis.PubSubMessage) {
			fmt.Println("notice", notice.Message)
		})
		return "subscribed", nil
	case "pipeline":
		count, _ := strconv.Atoi(words[0])
		return pipeline(ctx, client, count, words[1], words[2])
	case "close":
		client.Close()
		return "closed", nil
	}
	return client.Do(ctx, client.B().Arbitrary(name).Args(words...).Build()).ToAny()
}

func main() {
	plain := len(os.Args) > 3
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:  []string{os.Args[1] + ":" + os.Args[2]},
		DisableCache: !plain, // its cache needs CLIENT TRACKING
	})
	if err != nil {
		fmt.Println("event", err)
		os.Exit(1)
	}
	fmt.Println("ready")
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		words := strings.Fields(input.Text())
		if reply, err := answer(context.Background(), client, words[0], words[1:]); err != nil {
			fmt.Println("error", err)
		} else {
			fmt.Println("reply", reply)
		}
		if words[0] == "close" {
			return
		}
	}
}
