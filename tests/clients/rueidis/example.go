package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/google/uuid"
	"github.com/redis/rueidis"
)

func main() {
	ctx := context.Background()
	client, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress:  []string{"127.0.0.1:" + cmp.Or(os.Getenv("PORT"), "7379")},
		DisableCache: true, // its cache needs CLIENT TRACKING
	})
	if err != nil {
		panic(err)
	}
	defer client.Close()
	id := uuid.NewString() // kept with the order, so that a repeated call means the same units
	left, err := client.Do(ctx, client.B().Arbitrary("RESERVE").Keys("item:1001").Args("42", "ID", id).Build()).AsInt64()
	if err != nil {
		panic(err)
	}
	if left < 0 {
		fmt.Println("refused:", left) // -1 is sold out; the manual lists them all
		return
	}
	fmt.Printf("reserved, %d left\n", left)
	confirmed, err := client.Do(ctx, client.B().Arbitrary("CONFIRM").Keys("item:1001").Args("42", "ID", id).Build()).AsInt64()
	if err != nil {
		panic(err)
	}
	fmt.Println("confirmed:", confirmed)
}
