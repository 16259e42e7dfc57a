import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";

const redis = new Redis(Number(process.env.PORT ?? 7379));
redis.on("error", (error) => console.error(error.message)); // told while it connects again
const id = randomUUID(); // kept with the order, so that a repeated call means the same units
const left = await redis.call("RESERVE", "item:1001", "42", "ID", id);
if (left >= 0) {
  console.log(`reserved, ${left} left`);
  console.log("confirmed:", await redis.call("CONFIRM", "item:1001", "42", "ID", id));
} else {
  console.log(`refused: ${left}`); // -1 is sold out; the manual lists them all
}
await redis.quit();
