// A client of go-redis under the runner: a command a line on stdin, an answer a line on stdout (tests/clients/README.md).
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

func answer(ctx context.Context, client *redis.Client, name string, words []string) (any, error) {
	switch name {
	case "subscribe":
		subscription := client.Subscribe(ctx, words[0])
		if _, err := subscription.Receive(ctx); err != nil { // the confirmation
			return nil, err
		}
		go func() {
			for notice := range subscription.Channel() {
				fmt.Println("notice", notice.Payload)
			}
		}()
		return "subscribed", nil
	case "pipeline":
		count, _ := strconv.Atoi(words[0])
		replies, err := client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for user := range count {
				pipe.Do(ctx, words[1], words[2], user)
			}
			return nil
		})
		var text []string
		for _, reply := range replies {
			text = append(text, fmt.Sprint(reply.(*redis.Cmd).Val()))
		}
		return strings.Join(text, " "), err
	case "follow":
		last, told := words[0], []string{}
		for count, _ := strconv.Atoi(words[1]); len(told) < count; {
			streams, err := client.XRead(ctx, &redis.XReadArgs{Streams: []string{"log", last}}).Result()
			if err != nil {
				return nil, err
			}
			for _, entry := range streams[0].Messages {
				last = entry.ID
				told = append(told, fmt.Sprintf("%s:%v:%v", entry.ID, entry.Values["event"], entry.Values["user"]))
			}
		}
		return strings.Join(told, " "), nil
	case "close":
		return "closed", client.Close()
	}
	arguments := []any{name}
	for _, word := range words {
		arguments = append(arguments, word)
	}
	return client.Do(ctx, arguments...).Result()
}

func main() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: os.Args[1] + ":" + os.Args[2]})
	if err := client.Ping(ctx).Err(); err != nil {
		fmt.Println("event", err)
		os.Exit(1)
	}
	fmt.Println("ready")
	for input := bufio.NewScanner(os.Stdin); input.Scan(); {
		words := strings.Fields(input.Text())
		if reply, err := answer(ctx, client, words[0], words[1:]); err != nil {
			fmt.Println("error", err)
		} else {
			fmt.Println("reply", reply)
		}
		if words[0] == "close" {
			return
		}
	}
}
