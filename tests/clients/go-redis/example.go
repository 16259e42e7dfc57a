package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

func main() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + cmp.Or(os.Getenv("PORT"), "7379")})
	defer client.Close()
	id := uuid.NewString() // kept with the order, so that a repeated call means the same units
	left, err := client.Do(ctx, "RESERVE", "item:1001", "42", "ID", id).Int64()
	if err != nil {
		panic(err)
	}
	if left < 0 {
		fmt.Println("refused:", left) // -1 is sold out; the manual lists them all
		return
	}
	fmt.Printf("reserved, %d left\n", left)
	confirmed, err := client.Do(ctx, "CONFIRM", "item:1001", "42", "ID", id).Int64()
	if err != nil {
		panic(err)
	}
	fmt.Println("confirmed:", confirmed)
}
