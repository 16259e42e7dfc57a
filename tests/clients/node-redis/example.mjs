import { randomUUID } from "node:crypto";
import { createClient } from "redis";

const client = createClient({ socket: { port: Number(process.env.PORT ?? 7379) } });
client.on("error", (error) => console.error(error.message)); // told while it connects again; without this it ends
await client.connect();
const id = randomUUID(); // kept with the order, so that a repeated call means the same units
const left = await client.sendCommand(["RESERVE", "item:1001", "42", "ID", id]);
if (left >= 0) {
  console.log(`reserved, ${left} left`);
  console.log("confirmed:", await client.sendCommand(["CONFIRM", "item:1001", "42", "ID", id]));
} else {
  console.log(`refused: ${left}`); // -1 is sold out; the manual lists them all
}
await client.quit();
